#!/usr/bin/env bash
# Uses quern as its users do. run.sh WORK BUILD: WORK is recreated, BUILD is a build folder of quern.
# Prints "ok WHAT" or "not ok WHAT" for each check; exits 1 when one failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$1
build=$2
prefix=$work/prefix
failures=0
if command -v ninja >/dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi

# check WHAT COMMAND…: its output is shown when it fails.
check() {
  local what=$1 output start=$EPOCHREALTIME
  shift
  if output=$("$@" 2>&1); then
    awk -v w="$what" -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "ok %s (%.1f s)\n", w, b - a }'
  else
    printf '%s\nnot ok %s\n' "$output" "$what"
    failures=$((failures + 1))
  fi
}

# ---- Contents of the files -----------------------------------------------------------------------------------------

# With Ninja a file `quern` in the build's root would be taken for the target of that name.
target_quern_is_the_library() {
  rm -f "$build"/libquern.so*
  cmake --build "$build" --target quern && [ -e "$build/libquern.so" ]
}

install_package() {
  cmake --install "$build" --prefix "$prefix.made" &&
    mv "$prefix.made" "$prefix"  # an installed tree may be moved
}

# Only quern's own symbols, the C functions under a version of their own; prints the others.
only_quern_symbols() {
  nm -D --defined-only --with-symbol-versions "$library" | c++filt | cut -d' ' -f3- |
    awk '
      /^QUERN_(C_1|[0-9.]+)$/ { next }  # the versions themselves
      /^quern_[a-z_]+@@QUERN_C_1$/ { next }
      !/^(typeinfo for |typeinfo name for |vtable for )?quern::/ { print; bad = 1 }
      END { exit bad || NR == 0 }'
}

# The functions that quern/c.h declares, and no others, have the version that later releases keep.
exports_the_c_interface() {
  local declared
  declared=$(sed -nE 's/^QUERN_C_API .*[ *](quern_[a-z_]+)\(.*/\1@@QUERN_C_1/p' "$prefix/include/quern/c.h" | sort)
  [ -n "$declared" ] && diff <(printf '%s\n' "$declared") \
    <(nm -D --defined-only --with-symbol-versions "$library" | awk '$3 ~ /^quern_/ { print $3 }' | sort)
}

# The command's libraries are the C and C++ runtime; the library's too.
only_runtime_libraries() {
  ldd "$1" | awk '
    !/^[ \t]*(linux-vdso|\/lib[^ ]*\/ld-linux|(libstdc\+\+|libm|libgcc_s|libc|libdl|libpthread|librt)\.so)/ { print; bad = 1 }
    END { exit bad }'
}

no_log_library() { [ -e "$1" ] && ! nm -C "$1" | grep -E '(^|[^a-z_])(spdlog|fmt)::' | head -20 | grep . ; }

# ---- Building against it -------------------------------------------------------------------------------------------

build_app() {
  local folder=$1
  shift
  cmake -S "$here/app" -B "$folder" -DCMAKE_BUILD_TYPE=Debug "$@" && cmake --build "$folder" --parallel "$(nproc)"
}

# build_example NAME FOLDER OPTION…
build_example() {
  cmake -S "$root/examples/$1" -B "$2" -DCMAKE_BUILD_TYPE=Debug "${@:3}" && cmake --build "$2" --parallel "$(nproc)"
}

# On the CPU; the kernels for a GPU are compiled only.
run_example() {
  local output
  output=$(QUERN_CACHE_DIR=$work/cache "$1" "$(find "$prefix" -name libquern_hostdriver.so)" 2>&1 &&
    QUERN_CACHE_DIR=$work/cache "$1" prewarm sm_90a 2>&1) && grep -q 'agree bit for bit' <<<"$output" &&
    grep -q ' images for sm_90a' <<<"$output" || { printf '%s\n' "$output"; return 1; }
}

# Exits with 1 where plain loops give another loss, or where it does not fall.
run_dlrm() {
  local output
  output=$(QUERN_CACHE_DIR=$work/cache "$1" "$(find "$prefix" -name libquern_hostdriver.so)" 2>&1) &&
    grep -q '^dlrm: loss .* with plain loops at most' <<<"$output" || { printf '%s\n' "$output"; return 1; }
}

demo_ends_with_a_launch() {
  "$root/tools/demo.sh" "$(basename "$build")" >"$work/demo.log" 2>&1 &&
    grep -q "^launched: the result is the reference's" "$work/demo.log" || { cat "$work/demo.log"; return 1; }
}

run_app() {
  local output
  output=$("$1" "$work/cache") || { printf '%s\n' "$output"; return 1; }
  printf '%s\n' "$output"
  grep -q 'gather .*sm_90a' <<<"$output" && grep -q 'pointwise .*relu.*sm_90a' <<<"$output" && grep -q 'scale_rows .*sm_90a' <<<"$output" &&
    grep -qE 'key [0-9a-f/]{32,}' <<<"$output"
}

# Asked for the image of its own family.
run_worker() {
  local answer=
  coproc worker { QUERN_CACHE_DIR=$work/cache "$1" worker; }
  printf '%s%s\n' '{"compile": {"problem": "scale_rows width=1000", "target": "sm_90a", ' \
    '"device_model": "generic sm_90", "config": ""}}' >&"${worker[1]}"
  IFS= read -r -t 120 answer <&"${worker[0]}"
  eval "exec ${worker[1]}>&-"
  wait
  grep -q '^{"image":{"key":"' <<<"$answer" || { printf '%s\n' "$answer"; return 1; }
}

# The sweep runs in `quern worker`, on the host driver; the plan is the winner's, and the next process finds its record.
tunes() {
  local folder=$1.tuning output
  mkdir -p "$folder"
  for expected in 'measured, ' 'record of .* (exact)'; do
    output=$(QUERN_LIBCUDA=$(find "$prefix" -name libquern_hostdriver.so) QUERN_WORKER=$prefix/bin/quern \
      XDG_DATA_HOME=$folder "$1" "$folder" 2>&1) && grep -q "$expected" <<<"$output" || { printf '%s\n' "$output"; return 1; }
  done
}

# Functions that only the tuner has.
nothing_of_the_tuner() { [ -e "$1" ] && ! nm -C "$1" 2>/dev/null | grep -E ' [TtWVdDbBrR] quern::.*(Sweep|Evaluator|Journal|DeviceCase)'; }
exports_the_tuner_only() {
  nm -D --defined-only --demangle "$1" | cut -d' ' -f3- | grep -v '^QUERN_TUNER_' |
    awk '!/^quern::(make_tuner|serve_worker)\(/ { print; bad = 1 } END { exit bad || NR != 2 }'
}

build_c_app() { cmake -S "$here/c_app" -B "$1" -DCMAKE_BUILD_TYPE=Debug "${@:2}" && cmake --build "$1"; }
# With a cache of its own, so that it compiles.
run_c_app() {
  local output
  output=$("$1/c_app" "$1.cache") || { printf '%s\n' "$output"; return 1; }
  grep -q '^compiled [1-9]' <<<"$output" && grep -q '^ok gather is compiled for sm_90a' <<<"$output" ||
    { printf '%s\n' "$output"; return 1; }
}
links_c_only() { readelf -d "$1" | awk '/NEEDED/ && !/\[lib(quern|c)\.so/ { print; bad = 1 } END { exit bad }'; }

# compile_c COMPILER STANDARD LANGUAGE
compile_c() {
  local program=$work/c_app.$1
  # shellcheck disable=SC2046
  "$1" -std="$2" -x "$3" -pedantic -Wall -Wextra -Wshadow -Werror "$here/c_app/main.c" -x none -o "$program" \
    $(flags --cflags --libs) &&
    LD_LIBRARY_PATH=$(flags --variable=libdir) "$program" "$work/package_c.cache"
}

# c_block N: the N-th block of C of docs/c.md.
c_block() { awk -v n="$1" '/^```/ { in_block = /^```c$/; count += in_block; next } in_block && count == n' "$root/docs/c.md"; }
# shellcheck disable=SC2046
compile_page() { gcc -std=c11 -pedantic -Wall -Wextra -Werror "$@" $(flags --cflags --libs); }
# The program of the page prints what the page says; the parts of a program compile.
page_of_c() {
  local program=$work/page output
  c_block 1 >"$program.c" && compile_page "$program.c" -o "$program" || return
  output=$(LD_LIBRARY_PATH=$(flags --variable=libdir) QUERN_CACHE_DIR=$work/package_c.cache "$program") || return
  printf '%s\n' "$output"
  [ -n "$output" ] && grep -Fqx "    $output" "$root/docs/c.md" || return
  {
    printf '%s\n' '#include <quern/c_families.h>' '#include <stdio.h>' 'int failed(quern_error* error);' \
      'int part(quern_runtime* runtime, quern_plan* plan, quern_error* error, quern_stream stream, const void* table,' \
      '         const void* ids, void* out, int64_t count);' \
      'int part(quern_runtime* runtime, quern_plan* plan, quern_error* error, quern_stream stream, const void* table,' \
      '         const void* ids, void* out, int64_t count) {'
    c_block 2
    c_block 3
    printf 'return 0;\n}\n'
  } >"$program.2.c" && [ -n "$(c_block 3)" ] && compile_page -c "$program.2.c" -o "$program.o"
}

# The archive is C++, so the C++ compiler links it. The host driver is not next to the program.
static_c() {
  local program=$work/c_app.static
  gcc -std=c11 -pedantic -Wall -Wextra -Werror -DQUERN_STATIC "-I$prefix/include" -c "$here/c_app/main.c" -o "$program.o" &&
    g++ "$program.o" "$work/subdirectory/quern/libquern.a" -ldl -pthread -o "$program" &&
    QUERN_HOSTDRIVER_LIBRARY=$(find "$prefix" -name libquern_hostdriver.so) "$program" "$work/package_c.cache"
}

flags() { PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name quern.pc)") pkg-config "$@" quern; }

compile_whole() {
  local compiler=$1 standard=$2 program=$work/whole
  # shellcheck disable=SC2046  # lists of words
  "$compiler" -std=c++"$standard" -Wall -Wextra -Wpedantic -Werror "$here/compile/whole.cpp" -o "$program" \
    $(flags --cflags --libs) &&
    LD_LIBRARY_PATH=$(flags --variable=libdir) "$program"
}

# Without -Wpedantic: it complains about the lines that nvcc itself writes.
compile_whole_nvcc() {
  # shellcheck disable=SC2046
  nvcc -std=c++"$1" -Xcompiler -Wall,-Wextra,-Werror -Werror all-warnings -x cu -c "$here/compile/whole.cpp" \
    -o "$work/whole.o" $(flags --cflags)
}

each_header_alone() {
  local header
  for header in "$prefix"/include/quern/*.h; do
    # shellcheck disable=SC2046
    g++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -x c++ $(flags --cflags) - \
      <<<"#include <quern/$(basename "$header")>" || return
  done
}
each_c_header_alone() {
  local header compiler
  for header in c.h c_families.h; do
    for compiler in gcc clang; do
      # shellcheck disable=SC2046
      "$compiler" -std=c11 -fsyntax-only -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -x c $(flags --cflags) - \
        <<<"#include <quern/$header>" || return
    done
  done
}

# The family to copy, copied.
skeleton_outside() {
  rm -rf "$work/families" && mkdir "$work/families" && cp -r "$root/templates/skeleton" "$work/families" || return
  # shellcheck disable=SC2046
  g++ -std=c++"$1" -fsyntax-only -Wall -Wextra -Wpedantic -Werror $(flags --cflags) -I"$work/families" \
    -I"$(dirname "$(find "$prefix" -path '*/templates/common')")" \
    -I"$build/templates/quern_families/quern_example_families/skeleton" "$work/families/skeleton/skeleton.cpp"
}

# shellcheck disable=SC2046
arguments() { g++ -std=c++17 -fsyntax-only $(flags --cflags) "$@" "$here/compile/arguments.cpp"; }
wrong_arguments_are_refused() {
  local output
  if output=$(arguments -DWRONG 2>&1); then
    printf 'a launch of gather took the arguments of pointwise\n'
    return 1
  fi
  grep -q 'PointwiseArgs\|Pointwise::Args' <<<"$output" || { printf '%s\n' "$output"; return 1; }
}

# shellcheck disable=SC2046
family() { g++ -std=c++17 -fsyntax-only -Wall -Wextra -Werror $(flags --cflags) "$@" "$here/compile/family.cpp"; }
# refused MACRO WORDS
family_is_refused() {
  local output
  output=$(family "-D$1" 2>&1) && return 1
  grep -q "$2" <<<"$output" || { printf '%s\n' "$output"; return 1; }
}

old_abi_is_refused_by_name() {
  local output
  output=$(arguments -D_GLIBCXX_USE_CXX11_ABI=0 2>&1) && return 1
  grep -q 'configure quern with -DCMAKE_CXX_FLAGS=-D_GLIBCXX_USE_CXX11_ABI=0' <<<"$output" || { printf '%s\n' "$output"; return 1; }
}

# ---- The checks ----------------------------------------------------------------------------------------------------

rm -rf "$work"
mkdir -p "$work"
check "the target quern is the library" target_quern_is_the_library
check "install" install_package
library=$(find "$prefix" -name libquern.so)
check "libquern.so exports quern:: and the C interface only" only_quern_symbols
check "libquern.so exports each function of quern/c.h under QUERN_C_1" exports_the_c_interface
check "libquern.so needs the C and C++ runtime only" only_runtime_libraries "$library"
tuner=$(find "$prefix" -name libquern_tuner.so)
check "libquern_tuner.so exports make_tuner and serve_worker" exports_the_tuner_only "$tuner"
check "libquern_tuner.so needs the C and C++ runtime only" only_runtime_libraries "$tuner"
check "libquern.so has nothing of the tuner" nothing_of_the_tuner "$build/libquern.so"
check "quern needs the C and C++ runtime only" only_runtime_libraries "$prefix/bin/quern"
check "quern runs where it is installed" "$prefix/bin/quern" list
check "its completion is installed" cmp <("$prefix/bin/quern" completion bash) "$prefix/share/bash-completion/completions/quern"
check "its man page is installed" cmp <("$prefix/bin/quern" help --man) "$prefix/share/man/man1/quern.1"
check "libquern_hostdriver.so needs the C and C++ runtime only" \
  only_runtime_libraries "$(find "$prefix" -name libquern_hostdriver.so)"
check "quern finds the host driver that is installed with it" \
  "$prefix/bin/quern" run gather rows=8 count=8 width=8 --device host --verify --cache-dir "$work/cache"

check "find_package: application builds as C++17 and C++20" build_app "$work/package" -DCMAKE_PREFIX_PATH="$prefix"
# The demo ends with a launch by such an application, on the CPU if there is no GPU.
if [ "$build" = "$root/build/$(basename "$build")" ]; then
  check "tools/demo.sh runs, and its application launches a kernel" demo_ends_with_a_launch
fi
check "find_package: C++17 application runs" run_app "$work/package/app17"
check "find_package: C++20 application runs" run_app "$work/package/app20"
check "an application's program is a worker for its own family" run_worker "$work/package/app20"
check "find_package: an application tunes on prepare" tunes "$work/package/tuned"
check "find_package: examples/row_softmax builds" build_example row_softmax "$work/row_softmax" -DCMAKE_PREFIX_PATH="$prefix"
check "find_package: examples/row_softmax equals its reference, whatever the config" run_example "$work/row_softmax/row_softmax"
check "find_package: examples/dlrm builds" build_example dlrm "$work/dlrm" -DCMAKE_PREFIX_PATH="$prefix"
check "find_package: examples/dlrm trains as plain loops do" run_dlrm "$work/dlrm/dlrm"

check "find_package: a C application builds without C++" build_c_app "$work/package_c" -DCMAKE_PREFIX_PATH="$prefix"
check "find_package: the C application runs on the CPU" run_c_app "$work/package_c"
check "find_package: the C application needs libquern and the C library only" links_c_only "$work/package_c/c_app"
check "a C program that opens libquern.so runs on the CPU" "$work/package_c/c_opened" "$library" "$work/package_c.cache"

# The same with the static library, and with the other compiler, which takes half the time. Precompiled headers hide what
# a file forgot to include; clang-tidy has none of them.
check "add_subdirectory: application builds as C++17 and C++20" \
  build_app "$work/subdirectory" -DQUERN_SOURCE_DIR="$root" -DBUILD_SHARED_LIBS=OFF -DQUERN_PRECOMPILE=ON \
  -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS_DEBUG=-O0  # a fifth of the build would be -g
check "add_subdirectory: C++17 application runs" run_app "$work/subdirectory/app17"
check "add_subdirectory: C++20 application runs" run_app "$work/subdirectory/app20"
check "add_subdirectory: an application tunes on prepare" tunes "$work/subdirectory/tuned"
check "libquern.a has nothing of the tuner" nothing_of_the_tuner "$work/subdirectory/quern/libquern.a"
check "libquern.a contains nothing of spdlog and fmt" no_log_library "$work/subdirectory/quern/libquern.a"
check "libquern.a: a C application links and runs on the CPU" static_c

"$here/isolation/run.sh" "$work/isolation" "$prefix" "$work/subdirectory/quern/libquern.a" ||
  failures=$((failures + 1))

for standard in 17 20; do
  for compiler in g++ clang++; do
    check "pkg-config: $compiler, C++$standard" compile_whole $compiler $standard
  done
  if command -v nvcc >/dev/null; then check "pkg-config: nvcc, C++$standard" compile_whole_nvcc $standard; fi
done
check "docs/c.md: its program runs on the CPU and prints what the page says" page_of_c
for compiler in gcc clang; do check "pkg-config: the C application, $compiler" compile_c $compiler c11 c; done
for compiler in g++ clang++; do check "pkg-config: the C application as C++17, $compiler" compile_c $compiler c++17 c++; done
check "skeleton compiles outside the tree as C++17" skeleton_outside 17
check "skeleton compiles outside the tree as C++20" skeleton_outside 20
check "each header compiles alone" each_header_alone
check "each header of the C interface compiles alone as C11" each_c_header_alone
check "a launch takes its own arguments" arguments
check "a family of one's own compiles" family
check "a member of a problem without a field is refused" family_is_refused WRONG_MEMBER 'needs a row in kFields'
check "a parameter too many is refused" family_is_refused WRONG_PARAMETERS 'at most kMaxParameters'
check "a program with the old string ABI gets the advice how to build quern for it" old_abi_is_refused_by_name
check "a launch refuses another family's arguments" wrong_arguments_are_refused
# shellcheck source=tests/consumer/package.sh
. "$here/package.sh"
[ $failures = 0 ]
