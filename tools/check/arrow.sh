#!/usr/bin/env bash
# Checks every #include of the tree against the arrow of docs/design.md. Prints FILE:LINE: for each include that points back.
set -euo pipefail
cd "$(dirname "$0")/../.."

families=$(find templates -mindepth 1 -maxdepth 1 -type d -not -name common -not -name mx -not -name moe -not -name rows -not -name hash -not -name sort -not -name expression -printf '%f ')

find base include runtime cache templates tools/quern tools/c_header \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print0 | sort -z |
  xargs -0 awk -v families="$families" '
  BEGIN {
    # Layer: the layers that it may include, including its own.
    allowed["public"] = "public"
    allowed["base"] = "base public"
    allowed["driver"] = "driver base public"
    allowed["hostdriver/exec"] = "hostdriver/exec base driver public common"  # with api, a library of its own
    allowed["hostdriver/api"] = "hostdriver/api " allowed["hostdriver/exec"]
    allowed["compiler"] = "compiler base public embedded"
    allowed["cache"] = "cache base public"
    allowed["plan"] = "plan cache compiler driver base public families embedded host_common"
    allowed["records"] = "records plan base public"
    allowed["api"] = "api records plan cache compiler driver base public families embedded"
    allowed["tensors"] = "tensors plan base public"
    allowed["c"] = "c tensors api plan driver base public"
    allowed["c_header"] = "public"
    # internal_family: compare, which is not visible to applications.
    allowed["testbench"] = "testbench internal_family api plan cache compiler driver base public families host_common common"
    # The folders of the tuner; each may include those before it.
    ground = "testbench internal_family api records plan cache compiler driver base public families host_common common"
    allowed["tuner/space"] = "tuner/space " ground
    allowed["tuner/search"] = "tuner/search " allowed["tuner/space"]
    allowed["tuner/journal"] = "tuner/journal base public"
    allowed["tuner/evaluate"] = "tuner/evaluate tuner/journal " allowed["tuner/search"]
    allowed["tuner/worker"] = "tuner/worker " allowed["tuner/evaluate"]
    allowed["tuner/sweep"] = "tuner/sweep " allowed["tuner/worker"]
    allowed["tuner/application"] = "tuner/application " allowed["tuner/sweep"]
    allowed["main"] = "commands " allowed["tuner/application"] " io report"
    allowed["commands"] = "commands " allowed["main"]
    allowed["io"] = "io " allowed["tuner/application"]
    allowed["report"] = "report io tuner/journal base public"
    allowed["common"] = "common"                                    # of common and mx, what kernels include: *.cuh, *_table.h, *_choices.h
    allowed["shared_device"] = "shared_device common spec"                # templates/{moe,rows,hash,sort}/*.cuh: kernels that families share
    allowed["host_common"] = "host_common shared_device common base public"  # templates/{common,mx,moe,rows,hash,sort,expression}/*.h, *.cpp
    allowed["device"] = "shared_device common spec own"                # templates/<f>/*.cu, *.cuh, params.h, *_choices.h
    allowed["family"] = "host_common common base public own embedded families"  # templates/<f>/*.cpp, <f>.h

    # A family that runs the kernels of another one on numbers of its own: FAMILY: the other.
    built_on["glu"] = "mxfp8"

    # <header>: the only layers that may include it.
    only["cuda.h"] = "driver hostdriver/api hostdriver/exec testbench"
    only["boost/"] = "hostdriver/exec"
    only["nvrtc.h"] = "compiler"
    only["xxhash.h"] = "base"
    only["spdlog/"] = "base"
    only["nlohmann/"] = "base tuner/space io"
    only["CLI/"] = "io"
    only["zlib.h"] = "io report"

    count = split(families, list, " ")
    for (i = 1; i <= count; ++i) is_family[list[i]] = 1
    split("base driver compiler plan records api tensors c testbench cache common commands io report", list, " ")
    for (i in list) is_layer[list[i]] = 1
  }

  # The layer of the file that is being read, and `own`, its family.
  FNR == 1 {
    split(FILENAME, part, "/")
    own = ""
    if (part[1] == "cache") layer = "cache"
    else if (part[1] == "base") layer = "base"
    else if (part[1] == "include") layer = "public"
    else if (part[1] == "tools" && part[2] == "c_header") layer = "c_header"
    else if (part[1] == "tools") layer = part[4] == "" ? "main" : part[3]
    else if (FILENAME ~ /^templates\/(moe|rows|hash|sort)\/.*\.cuh$/) layer = "shared_device"
    else if (part[1] == "templates" && part[2] ~ /^(common|mx|moe|rows|hash|sort|expression)$/) layer = FILENAME ~ /(\.cuh|_(table|choices)\.h)$/ ? "common" : "host_common"
    else if (part[1] == "templates") {
      own = part[2]
      layer = FILENAME ~ /(\.cuh?|\/params\.h|_choices\.h)$/ ? "device" : "family"
    } else layer = part[2] == "tuner" || part[2] == "hostdriver" ? part[2] "/" part[3] : part[2]
  }

  function has(words, word) { return index(" " words " ", " " word " ") > 0 }
  function complain(why) { printf "%s:%d: %s: %s\n", FILENAME, FNR, $0, why; bad = 1 }

  function layer_of(path,    part, stem) {
    split(path, part, "/")
    if (path == "spec.cuh" || part[1] == "generated") return "spec"
    if (path ~ /(^|\/)\.\.?\//) return "relative"
    if (part[1] == "quern_embedded") return "embedded"
    if (part[1] == "quern") {
      stem = part[2]
      sub(/\.h$/, "", stem)
      if (stem == own) return "own"
      return stem == "families" || stem ~ /_(table|choices)$/ || stem in is_family ? "families" : "public"
    }
    if (path ~ /^(moe|rows|hash|sort)\/.*\.cuh$/) return "shared_device"
    if (part[1] ~ /^(common|mx|moe|rows|hash|sort|expression)$/) return path ~ /(\.cuh|_(table|choices)\.h)$/ ? "common" : "host_common"
    if (part[1] == "tuner" || part[1] == "hostdriver") return part[1] "/" part[2]
    if (part[1] in is_layer) return part[1]
    if (part[1] == "compare" && own != "compare") return "internal_family"
    if (part[1] in is_family) return part[1] == own ? "own" : "family " part[1]
    return index(path, "/") ? "unknown" : "relative"
  }

  match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]+"/) {
    path = $0
    sub(/^[^"]*"/, "", path)
    sub(/".*/, "", path)
    to = layer_of(path)
    # quern.h is the one public header that knows the families; expression.h has the functions of their tables.
    if (FILENAME ~ /include\/quern\/quern\.h$/ && to == "families") next
    if (FILENAME ~ /include\/quern\/expression\.h$/ && path ~ /_table\.h$/) next
    if (to == "relative") complain("write the path from the tree, \"layer/file.h\"")
    else if (!(layer in allowed)) complain("the layer " layer " is not in tools/check/arrow.sh")
    else if (own in built_on && to == "family " built_on[own]) next
    else if (!has(allowed[layer], to)) complain(layer " must not include " to)
  }
  match($0, /^[ \t]*#[ \t]*include[ \t]*<[^>]+>/) {
    path = $0
    sub(/^[^<]*</, "", path)
    sub(/>.*/, "", path)
    for (prefix in only)
      if (index(path, prefix) == 1 && !has(only[prefix], layer)) complain(layer " must not include <" prefix ">")
    if ((layer == "common" || layer == "shared_device" || layer == "device") && path ~ /[.\/]/)
      complain("templates include nothing but their own headers")
  }
  END { exit bad }'
