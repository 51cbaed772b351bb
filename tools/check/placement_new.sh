#!/usr/bin/env bash
# Checks that what has a new with arguments includes <new>: where tools/tidy.py has the standard library as a module, clang
# shows operator new also to those who do not. Prints FILE: for each that does not.
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0
while IFS= read -r file; do
  grep -q '^#include <new>' "$file" || { printf '%s: has a new with arguments and no #include <new>\n' "$file"; status=1; }
done < <(grep -rlE '\bnew *\(|\boperator new\b' --include='*.cpp' --include='*.h' base include runtime cache templates tools python | sort)
exit $status
