#!/usr/bin/env bash
# Checks that no two files define a type of the same name in the same namespace: the linker would keep
# only one of their inline functions. Prints both places.
set -euo pipefail
cd "$(dirname "$0")/../.."

find base include runtime cache templates tools/quern tests/support examples \( -name "*.cpp" -o -name "*.h" -o -name "*.cuh" \) -print0 | sort -z |
  xargs -0 awk '
  FNR == 1 { depth = 0; hidden = 0 }
  /^namespace [A-Za-z0-9_:]+ \{/ { space[++depth] = $2; next }
  /^namespace \{/ { space[++depth] = "{"; ++hidden; next }
  /^\}  \/\/ namespace/ { if (space[depth--] == "{") --hidden; next }
  !hidden && /^(struct|class|enum class|enum) ([A-Z_]+ )?[A-Za-z0-9_]+( final)?( :.*)? \{/ {
    line = $0
    sub(/^(struct|class|enum class|enum) ([A-Z_]+ )?/, "", line)
    name = ""
    for (i = 1; i <= depth; ++i) name = name space[i] "::"
    name = name substr(line, 1, match(line, /[^A-Za-z0-9_]/) - 1)
    if (name in place && file[name] != FILENAME) {
      printf "%s:%d: %s is defined in %s too\n", FILENAME, FNR, name, place[name]
      bad = 1
    }
    place[name] = FILENAME ":" FNR
    file[name] = FILENAME
  }
  END { exit bad }'
