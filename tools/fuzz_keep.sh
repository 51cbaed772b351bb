#!/usr/bin/env bash
# Keeps the best inputs that tools/fuzz.sh found: for each target a few that add the most coverage. Named inputs
# (those of past findings, and the seeds) always stay.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  printf 'usage: tools/fuzz_keep.sh PROGRAMS [COUNT]     PROGRAMS as for tools/fuzz.sh; COUNT inputs for each target, default 10\n'
  exit 2
fi
programs=$(cd "$1" && pwd)
count=${2:-10}
cd "$(dirname "$0")/../tests/fuzz/corpus"
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# From libFuzzer's log of a merge: the paths to keep, largest coverage gain first. Inputs in the folder $1
# are there already.
choose() {
  awk -v count="$count" -v there="$1/" '
    NR == 1 { files = $1; next }
    NR == 2 { next }
    NR <= files + 2 { path[NR - 3] = $0; next }
    $1 == "FT" { reaches[$2] = substr($0, length($1 $2) + 3) }
    function gain(i, take,    parts, n, sum, k) {
      n = split(reaches[i], parts, " ")
      for (k = 1; k <= n; ++k) {
        if (!(parts[k] in seen)) ++sum
        if (take) seen[parts[k]] = 1
      }
      return sum + 0
    }
    END {
      for (i in path) if (index(path[i], there) == 1) { gain(i, 1); delete path[i] }
      while (count-- > 0) {
        most = 0
        for (i in path) if ((g = gain(i, 0)) > most) { most = g; best = i }
        if (most == 0) break
        gain(best, 1)
        print path[best]
        delete path[best]
      }
    }'
}

for name in *; do
  found=$programs/fuzz-results/$name/corpus
  [ -d "$found" ] || continue
  mkdir "$scratch/new"
  find "$name" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -exec mv -t "$scratch/new" {} +
  cp "$found"/* "$scratch/new"
  cp -r "$name" "$scratch/named"
  "$programs/quern_fuzz_$name" -merge=1 -set_cover_merge=1 -use_counters=0 "-merge_control_file=$scratch/account" \
    "$scratch/named" "$scratch/new" 2>/dev/null
  choose "$scratch/named" <"$scratch/account" | xargs --no-run-if-empty cp -t "$name"
  printf '%s: %d inputs\n' "$name" "$(find "$name" -type f | wc -l)"
  rm -r "${scratch:?}"/*
done
