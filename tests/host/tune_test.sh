#!/usr/bin/env bash
# Sweeps, their files and checks of records from the command line, on the host driver. What is measured there means
# nothing, so nothing here depends on a time. Usage: tune_test.sh QUERN_BINARY RECORD_MAKER
# Prints "ok WHAT" or "not ok WHAT" for each check; exits 1 when one failed.
set -u
usage='usage: tune_test.sh QUERN_BINARY RECORD_MAKER'
quern=$(realpath "${1:?$usage}")
record_maker=$(realpath "${2:?$usage}")
if ! command -v c++ >/dev/null; then
  echo "skipped: sweeps and checks of records: no C++ compiler"
  exit 77
fi
work=$(mktemp -d)
first=
# shellcheck disable=SC2086
trap '[ -z "$first" ] || kill -KILL $first 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
unset "${!QUERN_@}"
export QUERN_CACHE_DIR=$work/cache QUERN_RECORDS=$work/data/records.jsonl
failures=0

pass() { echo "ok $1"; }
fail() {
  sed 's/^/    /' out err | cut -c1-400 | head -20
  echo "not ok $1"
  failures=$((failures + 1))
}
check() {
  local what=$1
  shift
  if "$@"; then pass "$what"; else fail "$what"; fi
}
# expect CODES WORD ARGUMENT…: `quern tune ARGUMENT…` ends with one of the codes, "0" or "0 3", and says WORD. The code
# is left in `status`.
expect() {
  local codes=$1 word=$2
  shift 2
  "$quern" tune "$@" >out 2>err
  status=$?
  if [[ " $codes " != *" $status "* ]]; then
    fail "quern tune $*: exit code $status, not $codes"
  elif ! cat out err | grep -qF -- "$word"; then
    fail "quern tune $*: \"$word\" is not said"
  else
    pass "$status quern tune $*"
  fi
}
says() { grep -qF -- "$1" out err; }
silent() { ! says "$1"; }

# The lines of a sweep's file that are measurements, and whether no config has two.
trials() { grep '^{"config"' "$1"; }
no_config_twice() { [ -z "$(trials "$1" | sed 's/^{"config":"\([^"]*\)".*/\1/' | sort | uniq -d)" ]; }
# The complete lines of BEFORE are at the same place in AFTER.
kept() { [ -s "$1" ] && cmp -s "$1" <(trials "$2" | head -n "$(wc -l <"$1")"); }
lines_of() { if [ -e "$1" ]; then trials "$1" | wc -l; else echo 0; fi; }
# wait_for SECONDS COMMAND…
wait_for() {
  local left=$(($1 * 20))
  shift
  until "$@"; do
    [ $((left -= 1)) -gt 0 ] || return 1
    sleep 0.05
  done
}

# ---- a sweep, resumed and restarted
problem='gather rows=4 count=4 width=16'
# In the order of the space: the stop rule of a search depends on times.
# shellcheck disable=SC2086
sweep() { expect 0 "$1" $problem --device host --strategy exhaustive --json "${@:2}"; }
sweep '"measured":5,' --budget 5
check 'the winner is printed' says '"config":"form='
check 'the sweep file is named' says "\"file\":\"$work/data/sweeps/gather-"
# One sign: faster_percent is the time that the winner saves, in percent of the default's time.
one_sign() {
  sed -n 's/.*"us":\([0-9.e+]*\),"default_us":\([0-9.e+]*\),"faster_percent":\([-0-9.e+]*\),"faster_low":\([-0-9.e+]*\),"faster_high":\([-0-9.e+]*\),.*/\1 \2 \3 \4 \5/p' out |
    awk '{ seen = 1; if ($4 > $3 || $3 > $5 || ($3 > 1 && $1 > $2) || ($3 < -1 && $1 < $2)) bad = 1 } END { exit bad || !seen }'
}
check 'faster is positive' one_sign
check 'the host is reported as one' says 'does not apply to a GPU'
check 'no record is kept of the host' test ! -e "$QUERN_RECORDS"
file=$(find data/sweeps -name 'gather-*.jsonl')
check 'there is one file' test "$(wc -l <<<"$file")" = 1
trials "$file" >before
sweep "resuming $work/$file, $(wc -l <before) configs known" --budget 8
check 'a larger budget measures the rest' says '"measured":8,'
check 'nothing is measured twice' no_config_twice "$file"
check 'earlier measurements stay' kept before "$file"
sweep '"measured":8,' --budget 8
check 'a finished sweep is restarted' silent 'resuming'
check 'in the same file' no_config_twice "$file"
sweep '"measured":4,' --budget 4 --in-process --no-record
expect 0 wrote report "$file" --output page.html
check 'the report has the problem' grep -qF "$problem" page.html
check 'the report is a whole page' grep -q '</html>' page.html
expect 0 "there are no such records" show "$problem"

# ---- progress
if command -v script >/dev/null; then
  # shellcheck disable=SC2086
  at_terminal() {
    TERM=$1 timeout 60 script -qec "stty cols 200; '$quern' tune $problem --device host --budget 3 --no-record" /dev/null </dev/null >out 2>err
  }
  at_terminal xterm
  check 'progress knows the budget' grep -q '\[3/3\] [0-9.]*/s, 0 s left: gather' out
  at_terminal dumb
  check 'a terminal without escape codes gets none' test -z "$(tr -cd '\033' <out)"
else
  echo "skipped: progress at a terminal: no script"
fi

# ---- the output at the end
# shellcheck disable=SC2086
expect 0 'faster_percent' $problem --device host --strategy exhaustive --budget 8
check 'the verdict is one sentence' grep -Eq "^$problem: (kept the default: no config was faster by more than [0-9.]* %|(found|took) .*% (faster|slower) than the default .*)\\.\$" out
check 'the sweep file is named for people' grep -qF "sweep file  $work/data/sweeps/gather-" out
check 'the next command is named' grep -qF "next        quern tune report $work/data/sweeps/gather-" out
eval "$(sed -n "s|^next *quern |'$quern' |p" out)" 2>/dev/null
check 'the next command works' grep -q '</html>' report.html

# ---- a sweep that is stopped, met by another, killed, and gone on with
space=(gather rows=1 count=1 width=1 dtype=u8 --device host --save-space space.jsonl --json)
some_lines() { [ "$(lines_of space.jsonl)" -ge 20 ]; }
# Begun again where it was quicker than this script.
stopped_in_its_midst() {
  for _ in 1 2 3 4 5; do
    rm -f space.jsonl
    "$quern" tune "${space[@]}" >first.out 2>&1 &
    first=$!
    wait_for 60 some_lines && kill -STOP $first && ! grep -q '^{"result"' space.jsonl && return
    kill -KILL $first
    wait $first
  done 2>/dev/null
  return 1
}
check 'a sweep writes as it measures' stopped_in_its_midst
expect 1 'space.jsonl is being written by another sweep; wait for it or name another file' "${space[@]}"
check 'no row is printed for it' silent '"schema":"quern.tune/1"'
kill -KILL "$first"
wait "$first" 2>/dev/null
first=
# By an argument of theirs, from a file: as an argument of grep it would be found there.
printf '%s' "$QUERN_CACHE_DIR" >pattern
no_workers() { ! grep -lzxF -f pattern /proc/[0-9]*/cmdline >out 2>/dev/null; }
check 'its workers end with it' wait_for 20 no_workers
head -c "$(grep -b . space.jsonl | tail -n 1 | cut -d: -f1)" space.jsonl | grep '^{"config"' >before
printf '{"config":"form=0 vec' >>space.jsonl
expect 0 'resuming space.jsonl, ' "${space[@]}"
check 'every config is measured' says '"stopped":"all measured"'
check 'after a kill nothing is measured twice' no_config_twice space.jsonl
check 'measurements stay after a kill' kept before space.jsonl
points=$(sed -n 's/.*"points":\([0-9]*\).*/\1/p' out)
expect 0 "\"file\":\"space.jsonl\",\"points\":$points,\"failed\":0" --replay space.jsonl --seeds 5 --json
expect 2 "space.jsonl is another sweep's" gather rows=1 count=1 width=2 dtype=u8 --device host --save-space space.jsonl

# ---- two at once, in any order
# Either one is refused in words, or it came later and had the file to itself.
ended_well() { [ "$1" = 0 ] || { [ "$1" = 1 ] && grep -q 'is being written by another sweep; wait for it' "$2"; }; }
both=(gather rows=2 count=2 width=1 dtype=u8 --device host --strategy exhaustive --budget 6 --json)
"$quern" tune "${both[@]}" >out.1 2>err.1 &
one=$!
"$quern" tune "${both[@]}" >out.2 2>err.2 &
two=$!
wait $one
one=$?
wait $two
two=$?
cat err.1 err.2 >err
check "two at once: the first ends well ($one)" ended_well $one err.1
check "two at once: the second ends well ($two)" ended_well $two err.2
check 'two at once: one has measured' grep -q '"measured":6,' out.1 out.2
shared=$(grep -lF '"problem":"gather rows=2 count=2 width=1 dtype=u8"' data/sweeps/*.jsonl)
expect 0 'wrote shared.html' report "$shared" --output shared.html
check 'two at once: the file is whole' silent 'is skipped'
check 'two at once: nothing is measured twice' no_config_twice "$shared"

# ---- records, measured again
record() { "$record_maker" device='quern host device (sm_90)' target=host us=50 "$@"; }
tiny='gather rows=2 count=2 width=1 dtype=u8'
expect 2 "sweep first: quern tune $tiny --device host" check "$tiny" --device host
record problem="$tiny" device='NVIDIA H200' target=sm_90a >"$QUERN_RECORDS"
expect 1 'there are no records for quern host device (sm_90), host, among the 1 that were asked for' \
  check "$tiny" --device host
check 'it prints the next command' says "sweep first: quern tune $tiny --device host"
expect 5 'device 7 does not exist' check --device host:7
# Without a config it is the default: it has no rival.
record problem="$tiny" >>"$QUERN_RECORDS"
record problem="$tiny" regime=warm >>"$QUERN_RECORDS"
cp "$QUERN_RECORDS" records.before
find data -type f | sort >files.before
expect 0 '2 records, 0 flips; regret: p95 0.00 %, worst 0.00 %, geometric mean 0.00 %' check --device host
check 'the warm one is among them' says "| $tiny | warm "
expect 0 '"regret_percent":0.0,"regret_low":0.0,"regret_high":0.0,"flip":false' check gather rows=2 --device host --json --in-process
check 'JSON is rows only' test "$(grep -c '^{"schema":"quern.tune.check/1","problem":' out)" = "$(wc -l <out)"
expect 2 'there are no such records' check pointwise dtype=f16 --device host
{
  record problem="$tiny" config='vector=1 unroll=1' rival='unroll=4' rival='unroll=77' compiler='c++ of old'
  record problem='gather rows=2 count=2 width=63' config='form=0 vector=32'
  record problem='gather width=63'
  record problem='nothing size=3'
} >others.jsonl
expect '0 3' 'not measured: the config form=0 vector=32' check --records others.jsonl --device host --json
flips() { if says '"flip":true'; then echo 3; else echo 0; fi; }
check "the exit code tells whether a record flips ($status)" test "$status" = "$(flips)"
check 'a lost rival is reported' says 'rivals that are not legal any more: 1'
check 'another compiler is reported' says 'compiler c++ of old then, c++'
check 'an open problem is reported' says 'not measured: rows is open'
check 'an unknown family is reported' says 'not measured: there is no family'
check 'each record has its row' test "$(wc -l <out)" = 4
expect 3 '1 failed' check --records others.jsonl "$tiny" --memory 1K --device host
check 'the failure has its reason' says 'device memory'
check 'no record was written' cmp -s "$QUERN_RECORDS" records.before
check 'no file was made' cmp -s <(find data -type f | sort) files.before

# ---- a worker whose input another process has open too

mkfifo questions
exec 9<>questions
echo 'no question' >&9
( "$quern" worker <questions >answers 2>/dev/null & echo $! >worker
  for _ in {1..300}; do if [ -s answers ]; then break; fi; sleep 0.1; done )
check 'it answers an invalid question' grep -q '^{"error":' answers
for _ in {1..300}; do if ! kill -0 "$(cat worker)" 2>/dev/null; then break; fi; sleep 0.1; done
check 'a worker ends with its parent' test ! -e "/proc/$(cat worker)/exe"
exec 9>&-

echo "$failures failed"
[ "$failures" = 0 ]
