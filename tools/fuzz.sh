#!/usr/bin/env bash
# Runs the fuzzers for a given CPU time. Needs this file, the programs (`cmake --build --preset fuzz` makes them) and the
# inputs, nothing else of the tree, so it can run on another machine.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tools/fuzz.sh PROGRAMS SECONDS [JOBS [INPUTS]]
  PROGRAMS  the folder of quern_fuzz_*: build/fuzz. Results go to its folder fuzz-results
  SECONDS   CPU time for each program, spread over the jobs
  JOBS      parallel jobs (default: the number of processors)
  INPUTS    a folder with a folder of inputs for each program (default: tests/fuzz/corpus)
Runs every input once; then each job continues from its own copy, until its time is spent or it has a finding.
fuzz-results/NAME has `corpus`, the inputs worth keeping, `findings`, and the logs. Exits 1 after a finding.
TEXT
}

if [ $# -lt 2 ] || [ $# -gt 4 ]; then
  usage
  exit 2
fi
programs=$(cd "$1" && pwd)
seconds=$2
jobs=${3:-$(nproc)}
inputs=$(cd "${4:-$(dirname "$0")/../tests/fuzz/corpus}" && pwd)
slice=60  # seconds after which a job checks its CPU time
options=(-timeout=20 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1)
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

sum() { cat "$@" | awk '{ n += $1 + $2 } END { printf "%.1f", n }'; }
count() { find "$1" -type f | wc -l; }

# timed LOG COMMAND…: its CPU seconds to LOG.cpu, its output to LOG. A command that fails leaves the file `failed`.
timed() {
  local log=$1 TIMEFORMAT='%U %S'
  shift
  { time "$@" >>"$log" 2>&1 || touch "$folder/failed"; } 2>>"$log.cpu"
}

# The seconds that job $1 may run before the next check; fails when its time is spent.
left() {
  sum "$folder/job-$1.log.cpu" |
    awk -v all="$seconds" -v jobs="$jobs" -v slice="$slice" '{
      left = all / jobs - $1
      if (left < 0.5) exit 1
      print left < slice ? int(left + 0.999) : slice
    }'
}

job() {
  local now
  : >"$folder/job-$1.log.cpu"
  while [ ! -e "$folder/failed" ] && now=$(left "$1"); do
    timed "$folder/job-$1.log" \
      "$program" "${options[@]}" "-max_total_time=$now" "-artifact_prefix=$folder/findings/" "$folder/corpus-$1"
  done
}

# The smallest set of inputs that reaches every edge, regardless of hit counts, to keep the set small.
merge() {
  mkdir "$folder/corpus"
  timed "$folder/merge.log" "$program" -merge=1 -set_cover_merge=1 -use_counters=0 -max_len=4096 "$folder/corpus" "$folder"/corpus-*
  rm -r "$folder"/corpus-*
}

report() {
  local executions ok=ok
  [ ! -e "$folder/failed" ] || ok='not ok'
  executions=$(cat "$folder"/{replay,job-*}.log | awk '/stat::number_of_executed_units/ { n += $2 } END { print n + 0 }')
  printf '%s %-8s %10d executions, %8s CPU s, %3d inputs of %6d bytes, %d findings\n' "$ok" "$name" "$executions" \
    "$(sum "$folder"/*.cpu)" "$(count "$folder/corpus")" "$(find "$folder/corpus" -type f -exec cat {} + | wc -c)" \
    "$(count "$folder/findings")"
  [ "$ok" = ok ] || printf '         see %s\n' "$folder"
}

fuzz() {
  local number
  rm -rf "$folder"
  mkdir -p "$folder/findings"
  timed "$folder/replay.log" "$program" "${options[@]}" -runs=0 "-artifact_prefix=$folder/findings/" "$inputs/$name"
  for ((number = 0; number < jobs; ++number)); do
    cp -r "$inputs/$name" "$folder/corpus-$number"
    job "$number" &
  done
  wait
  merge
  report
}

status=0
for program in "$programs"/quern_fuzz_*; do
  name=${program##*/quern_fuzz_}
  [ -d "$inputs/$name" ] || continue
  folder=$programs/fuzz-results/$name
  fuzz
  [ ! -e "$folder/failed" ] || status=1
done
[ -n "${name:-}" ] || status=1
exit $status
