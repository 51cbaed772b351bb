#!/usr/bin/env bash
# Checks of the command line that need no device: exit codes and output.
# Usage: cli_test.sh QUERN_BINARY RECORD_MAKER JSON_PAGE_CHECKER
# The checks are in cli/*.sh, which use the variables set here.
# shellcheck disable=SC2034
set -u
usage='usage: cli_test.sh QUERN_BINARY RECORD_MAKER JSON_PAGE_CHECKER'
quern=$(realpath "${1:?$usage}")
record_maker=$(realpath "${2:?$usage}")
page_checker=$(realpath "${3:?$usage}")
json_page=$(realpath "$(dirname "$0")/../../../docs/json.md")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
parts=$(realpath "$(dirname "$0")")/cli
cd "$work" || exit 1
export QUERN_CACHE_DIR=$work/cache
# No device, even if this machine has one: these checks test the case without one.
unset QUERN_LIBCUDA
export CUDA_VISIBLE_DEVICES=-1
no_driver=$work/no-driver.so.1
# Nor the host driver, but where it is asked for.
export QUERN_HOSTDRIVER_LIBRARY=$work/no-host-driver.so
unset QUERN_CACHE QUERN_CACHE_MATCH QUERN_CACHE_LAYERS QUERN_CACHE_TRUST QUERN_CACHE_MAX_BYTES QUERN_CACHE_MAX_ENTRIES QUERN_NVRTC QUERN_LOG QUERN_DUMP QUERN_MANIFEST QUERN_RECORD_LAYERS QUERN_TUNE QUERN_WORKER QUERN_ALIGNMENT
# No records, even if this user has some.
export QUERN_RECORDS=$work/records.jsonl
failures=0

pass() { echo "ok $1"; }
fail() {
  echo "FAIL $1"
  sed 's/^/    /' out err | head -20
  failures=$((failures + 1))
}

# skip WHAT WHY: counted by tools/test.sh, so that a skipped check does not count as passed.
skip() { echo "skipped: $1: $2"; }

# With --json an error is an object too, and nothing else is printed.
is_an_error() { [ "$(wc -l <out)" = 1 ] && grep -q '^{"schema":"quern.error/1",' out; }
# expect CODES WORD ARGUMENT…: the exit code, one of "0" or "0 3", and WORD in the output.
expect() {
  local code=$1 word=$2 status
  shift 2
  "$quern" "$@" >out 2>err
  status=$?
  grep '^{"schema":' out >>lines.jsonl
  if [[ " $code " != *" $status "* ]]; then
    fail "quern $*: exit code $status, not $code"
  elif ! cat out err | grep -qF -- "$word"; then
    fail "quern $*: \"$word\" is not said"
  elif [ "$code" = 2 ] && [ -s out ] && ! is_an_error; then
    fail "quern $*: wrong input, but data on stdout"
  else
    pass "$code quern $*"
  fi
}
check() {
  local what=$1
  shift
  if "$@" >out 2>err; then pass "$what"; else fail "$what"; fi
}

# npy FILE TYPE SHAPE DATA-BYTES [ORDER]
npy() {
  local head
  head=$(printf "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" "$2" "${5:-False}" "$3")
  {
    printf '\x93NUMPY\x01\x00'
    # shellcheck disable=SC2059
    printf "\\x$(printf %02x $((${#head} & 255)))\\x$(printf %02x $((${#head} >> 8)))"
    printf %s "$head"
    head -c "$4" /dev/zero
  } >"$1"
}

# In this order: later parts use files of earlier ones.
for part in words files completion images host failures operations json; do
  # shellcheck source=/dev/null
  . "$parts/$part.sh"
done

echo "$failures failed"
[ "$failures" = 0 ]
