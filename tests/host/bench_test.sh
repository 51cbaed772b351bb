#!/usr/bin/env bash
# What makes a published figure, held to what must come out: `quern bench` and `quern run` on the host driver, by a clock
# that counts bytes (memory_rate=…). Usage: bench_test.sh QUERN_BINARY
# Prints "ok WHAT" or "not ok WHAT" for each check; exits 1 when one failed.
set -u
quern=$(realpath "${1:?usage: bench_test.sh QUERN_BINARY}")
if ! command -v c++ >/dev/null; then
  echo "skipped: figures of bench and run: no C++ compiler"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset "${!QUERN_@}"
export QUERN_CACHE_DIR=$work/cache QUERN_RECORDS=$work/records.jsonl
failures=0

# Bytes per microsecond. The L2 is that of the device, 8 MB, and ten times as fast, so that warm data shows.
clock='memory_rate=1000 l2_rate=10000'
small='pointwise rows=1000 width=40 activation=identity dtype=f32 bias_spread=none' # 320,000 bytes: with flushes
large='pointwise rows=15000 width=4 activation=identity dtype=f32 bias_spread=none' # 480,000 bytes: rotating

# measure CLOCK ARGUMENT…: the lines that `quern ARGUMENT…` prints by this clock.
measure() {
  QUERN_HOSTDRIVER=$1 "$quern" "${@:2}" --device host --json >out 2>err
}
# is WHAT LINE MEMBER VALUE: a number, within 0.1 %, or a text.
is() {
  local got
  got=$(sed -n "$2p" out | grep -o "\"$3\":[^,}]*" | cut -d: -f2 | tr -d '"')
  if awk -v got="$got" -v want="$4" 'BEGIN {
      number = want ~ /^[0-9.]+$/
      exit !(number ? got != "" && got > want * 0.999 && got < want * 1.001 : got == want) }'; then
    echo "ok $1: $3 is $4"
  else
    sed 's/^/    /' out err | head -20
    echo "not ok $1: $3 is \"$got\", not $4"
    failures=$((failures + 1))
  fi
}

# The 21 samples of each take 2 % to 22 % more than the bytes: two launches warm up, and each takes 1 % more.
measure "$clock copy_rate=2000 drift_percent=1" bench --problem "$small" --problem "$large"
is 'bench, with flushes' 1 bytes 320000
is 'bench, cold by a flush of L2 before each of 40 calls' 1 us 358.4
is 'bench, the fourth of 21 samples' 1 p20 339.2
is 'bench, the sixteenth of 21 samples' 1 p80 377.6
is 'bench, bytes by the median' 1 gbs 0.892857
is 'bench, a copy of the same bytes' 1 copy_us 179.2
is 'bench, the faster copy is the driver'"'"'s' 1 copy_by driver
is 'bench, the share of the copy'"'"'s time' 1 copy_percent 50
is 'bench, rotating' 2 bytes 480000
is 'bench, cold by rotation' 2 us 537.6
is 'bench, rotating, the fourth of 21 samples' 2 p20 508.8
is 'bench, rotating, the sixteenth of 21 samples' 2 p80 566.4
is 'bench, rotating, a copy of the same bytes' 2 copy_us 268.8
is 'bench, rotating, the share of the copy'"'"'s time' 2 copy_percent 50
measure "$clock copy_rate=500" bench --problem "$small"
is 'bench, the faster copy is the kernel' 1 copy_by kernel
is 'bench, our own copy moves the same bytes' 1 copy_us 320
is 'bench, as fast as the copy' 1 copy_percent 100

# shellcheck disable=SC2086
measure "$clock" run $small
is 'run, a time by the clock' 1 kernel_us 320
is 'run, bytes by it' 1 gbs 1

echo "$failures failed"
[ "$failures" = 0 ]
