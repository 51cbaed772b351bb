#!/usr/bin/env bash
# Checks of the command line that need no device: exit codes and what is said.
# Usage: cli_test.sh QUERN_BINARY RECORD_MAKER
set -u
usage='usage: cli_test.sh QUERN_BINARY RECORD_MAKER'
quern=$(realpath "${1:?$usage}")
record_maker=$(realpath "${2:?$usage}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export QUERN_CACHE_DIR=$work/cache
# No driver, whatever this machine has: these checks are about what happens without one.
export QUERN_LIBCUDA=$work/no-driver.so.1
# Nor the host driver, but where it is asked for.
export QUERN_HOSTDRIVER_LIBRARY=$work/no-host-driver.so
unset QUERN_CACHE QUERN_CACHE_MATCH QUERN_CACHE_LAYERS QUERN_CACHE_TRUST QUERN_CACHE_MAX_BYTES QUERN_CACHE_MAX_ENTRIES QUERN_NVRTC QUERN_LOG QUERN_DUMP QUERN_MANIFEST QUERN_RECORD_LAYERS QUERN_TUNE QUERN_WORKER
# Nor records, whatever this user has.
export QUERN_RECORDS=$work/records.jsonl
failures=0

pass() { echo "ok $1"; }
fail() {
  echo "FAIL $1"
  sed 's/^/    /' out err | head -20
  failures=$((failures + 1))
}

# expect CODE WORD ARGUMENT…: the exit code, and WORD in what is printed.
expect() {
  local code=$1 word=$2 status
  shift 2
  "$quern" "$@" >out 2>err
  status=$?
  if [ "$status" != "$code" ]; then
    fail "quern $*: exit code $status, not $code"
  elif ! cat out err | grep -qF -- "$word"; then
    fail "quern $*: \"$word\" is not said"
  elif [ "$code" = 2 ] && [ -s out ]; then
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

# ---- what needs nothing
expect 0 quern --version
expect 0 Examples --help
expect 2 Usage
expect 0 gather list
expect 0 '"family":"gather"' list --json
expect 0 operand describe gather
expect 0 '"constraints"' describe pointwise --json
expect 0 sm_100a describe gather width=64 --arch sm_100a
expect 0 QUERN_CACHE_DIR doctor
expect 0 '"environment"' doctor --json

# ---- what was typed is wrong
expect 2 'Did you mean cache' cach
expect 2 'there is no command' frobnicate
expect 2 'Did you mean --json' list --jsno
expect 2 'did you mean gather' run gathr
expect 2 'did you mean width' run gather wdth=8
expect 2 'it takes' run gather dtype=float
expect 2 'it takes' run gather index=f32
expect 2 'it takes' run gather mode=maybe
expect 2 'it takes' run gather width=-1
expect 2 'it takes' run gather width=99999999999999999999
expect 2 'width=abc' run gather width=abc
expect 2 'given twice' run gather width=8 width=9
expect 2 'FIELD=VALUE' run gather width
expect 2 'family is missing' run
expect 2 'memory' run gather width=4096 rows=70368744177664 count=1
expect 2 'memory' run gather width=8 rows=1 count=70368744177664
expect 2 'out_stride' run gather width=64 out_stride=8
expect 2 'no run-time number' run gather --set multiplier=2
expect 2 'is no number' run pointwise multiplier=two
expect 2 'cuda:N' run gather --device gpu0
expect 2 'supported are' run gather --arch sm_42
expect 2 'supported are' prewarm gather --arch sm_90a,sm_42
expect 2 'known are' prewarm gather --device-model H9000
expect 2 'no parameter' run gather --config thread=1
expect 2 'tuning space' run gather --config threads=1
expect 2 'not legal' run gather width=63 --config form=0,vector=16
expect 2 'no parameter' prewarm gather --config thread=1
expect 2 '--offset' run gather --offset -1
expect 2 '--jobs' prewarm gather --jobs -1
expect 2 'it takes debug' list --log loud
expect 2 'Could not convert' run gather --seed x
expect 2 'not both' run gather --device cuda:0 --arch sm_90a
expect 2 '--variant' inspect gather --variant 7
expect 2 'is open' bench --problem 'gather width=8'
QUERN_CACHE=perhaps expect 0 QUERN_CACHE list
QUERN_CACHE=perhaps expect 0 QUERN_CACHE doctor
QUERN_TUNE=perhaps expect 0 'it takes off, lookup' list
expect 0 '"tuning":"lookup","records":[{"file":"'"$work"'/records.jsonl","records":0' doctor --json
QUERN_WORKER=/bin/false expect 0 '"worker":"/bin/false"' doctor --json
QUERN_TUNE=background QUERN_WORKER=$work/none expect 0 'set QUERN_WORKER to the path of the quern command' doctor
QUERN_TUNE=on-prepare QUERN_TUNE_SHARE=2 expect 0 'QUERN_TUNE_SHARE=2 means nothing' doctor
echo broken >other.jsonl
QUERN_RECORD_LAYERS=other.jsonl expect 0 'other.jsonl:1: it is no JSON' doctor
QUERN_RECORD_LAYERS=none.jsonl expect 0 'records are not read: none.jsonl' doctor

# ---- .npy files
npy u2.npy '<u2' '(4, 8)' 64
npy index.npy '<i8' '(3,)' 24
npy f4.npy '<f4' '(4, 8)' 128
npy fortran.npy '<u2' '(4, 8)' 64 True
npy short.npy '<u2' '(4, 8)' 63
npy huge.npy '<u2' '(4611686018427387904, 4611686018427387904)' 8
expect 2 'no such file' run gather width=8 --in source=none.npy
expect 2 'takes bf16 (<u2' run gather width=8 --in source=f4.npy
expect 2 '(4, 16)' run gather width=16 --in source=u2.npy
expect 2 'Fortran' run gather width=8 --in source=fortran.npy
expect 2 'bytes of data' run gather width=8 --in source=short.npy
expect 2 'larger than any memory' run gather width=8 --in source=huge.npy
expect 2 'no .npy' run gather width=8 --in source="$quern"
expect 2 'has no input' run gather width=8 --in sauce=u2.npy
expect 2 'has no input' run gather width=8 --in out=u2.npy
expect 2 'this problem has no scale' run gather width=8 --in scale=f4.npy
expect 2 'given twice' run gather width=8 --in source=u2.npy --in source=u2.npy
expect 2 'NAME=FILE' run gather width=8 --in u2.npy
expect 2 'does not exist' run gather width=8 --out out=nowhere/y.npy
expect 2 'is a directory' run gather width=8 --out out="$work"
expect 2 'has no output' run gather width=8 --out source=y.npy

# ---- recorded tuning spaces
cat >space.json <<'TEXT'
{"tune_params_keys": ["x", "y"], "tune_params": {"x": [1, 2, 4], "y": [false, true]}, "cache": {
"1": {"x": 1, "y": false, "time": 3.0}, "2": {"x": 2, "y": false, "time": 2.0}, "3": {"x": 4, "y": false, "time": 1.0},
"4": {"x": 4, "y": true, "time": "RuntimeFailedConfig"},
TEXT
gzip -k space.json
head -c 250 space.json >cut.json
head -c 100 space.json.gz >cut.json.gz
printf '{"tune_params_keys": [], "tune_params": {}, "cache": {}}' >empty.json
expect 0 '| space.json |      4 |      1 | ils' tune --replay space.json
expect 0 'geometric mean' tune --replay space.json --replay space.json.gz --strategy random --seeds 3
expect 0 '"file":"space.json.gz","points":4,"failed":1,"strategy":"exhaustive","seeds":7,"median_5":3.0,"p90_5":3.0,"median_1":3.0,"p90_1":3.0,"stop_evaluations":4.0,' \
  tune --replay space.json.gz --strategy exhaustive --seeds 7 --json
expect 2 'give a problem, --manifest FILE or --bench-table' tune
expect 2 'rows is open' tune gather width=64
expect 2 '--budget 0 means nothing' tune gather rows=4 count=4 width=64 --budget 0
expect 2 'strategy' tune gather rows=4 count=4 width=64 --strategy no_such
expect 2 'it takes cuda:N' tune gather rows=4 count=4 width=64 --device gpu
expect 2 'the regime "hot" is unknown' tune gather rows=4 count=4 width=64 --regime hot
expect 2 'belongs to report' tune gather rows=4 count=4 width=64 --output x.html
expect 2 'belongs to show and check' tune gather rows=4 count=4 width=64 --records x.jsonl
expect 2 'every config of one problem' tune --bench-table --record-space x.jsonl
expect 2 'takes files of sweeps' tune report
expect 2 'no such file' tune --replay none.json
expect 2 'there are ils, random' tune --replay space.json --strategy bees
expect 2 '--seeds 0' tune --replay space.json --seeds 0
expect 2 'truncated' tune --replay cut.json
expect 2 'truncated' tune --replay cut.json.gz
expect 2 'no config' tune --replay empty.json
expect 2 'directory' tune --replay .

# ---- records
record() { "$record_maker" device='NVIDIA H200' target=sm_90a us=8 default_us=10 "$@"; }
expect 0 'shipped with gather' tune show
expect 0 'there are no such records' tune show gather dtype=u8
check 'nothing is printed for no records' test ! -s out
{
  record problem='gather rows=8 count=8 width=64' config='unroll=2 threads=128'
  record problem='gather rows=8 count=8 width=64' config='unroll=4 threads=128'
  record problem='pointwise rows=8 width=64' config=unroll=1 regime=warm
} >records.jsonl
expect 0 '| gather rows=8 count=8 width=64 | NVIDIA H200 | sm_90a | cold   | unroll=4 threads=128 |' tune show gather rows=8
expect 0 '"regime":"warm","config":"unroll=1","us":8.0,"faster_percent":20.0' tune show pointwise --json
expect 0 'there are no such records' tune show gather width=65
expect 2 'did you mean width' tune show gather wdth=64
expect 2 'there is no family' tune show gathr
expect 2 'none.jsonl: No such file' tune show --records none.jsonl
expect 2 'belongs to report' tune show --output x.html
expect 0 '"gather rows=8 count=8 width=64"' tune show --records records.jsonl --json
expect 2 'OUT IN' tune merge
expect 2 'OUT IN' tune merge all.jsonl
expect 2 'none.jsonl: no such file' tune merge all.jsonl none.jsonl
expect 2 '--records belongs to show and check, not to merge' tune merge all.jsonl records.jsonl --records x.jsonl
check 'nothing is written for a wrong merge' test ! -e all.jsonl
record problem='gather rows=8 count=8 width=128' >more.jsonl
expect 0 '"records":3,"older":1,"newer_schema":0,"damaged":0' tune merge all.jsonl records.jsonl more.jsonl --json
expect 0 'gather rows=8 count=8 width=128' tune show --records all.jsonl
sed 's/unroll=1/unroll=2/' records.jsonl >bad_records.jsonl
expect 3 'bad_records.jsonl:3: its check does not hold' tune merge all.jsonl bad_records.jsonl
expect 0 'passed over' tune show --records bad_records.jsonl
: >blank.jsonl
expect 2 'no such records; sweep first: quern tune FAMILY FIELD=VALUE...' tune check --records blank.jsonl
expect 2 'sweep first: quern tune gather width=65' tune check gather width=65
expect 2 'did you mean width' tune check gather wdth=64
expect 2 'none.jsonl: No such file' tune check --records none.jsonl
expect 2 'it takes cuda:N' tune check --device gpu
expect 2 'takes one --device' tune check --device cuda:0 --device cuda:1
expect 2 '--regime belongs to sweep, not to check' tune check --regime warm
expect 2 '--budget belongs to sweep, not to check' tune check --budget 5
expect 2 '--jobs belongs to sweep, not to check' tune check --jobs 3
expect 2 '--seeds belongs to replay, not to sweep' tune gather rows=4 count=4 width=64 --seeds 3
expect 2 '--seed belongs to sweep, not to replay' tune --replay space.json --seed 3
expect 2 '--json belongs to sweep and show and check and merge and replay, not to report' tune report x.jsonl --json
expect 2 '--manifest belongs to sweep, not to check' tune check --manifest problems.jsonl
expect 2 'at least 1' tune check --timeout 0
expect 2 '--memory' tune check --memory lots
expect 2 'belongs to report' tune check --output x.html
expect 5 'QUERN_LIBCUDA' tune check
check 'no row is printed without a device' test ! -s out
QUERN_CACHE=off expect 1 '--in-process does without' tune check

# ---- reports of sweeps
expect 2 'none.jsonl' tune report none.jsonl
expect 2 'other.jsonl' tune report other.jsonl
cat >sweep.jsonl <<'TEXT'
{"quern_sweep":1,"family":"gather","problem":"gather rows=8 count=8 width=64","device":"NVIDIA H200","target":"sm_90a","regime":"cold","axes":[{"name":"unroll","values":["1","2"],"sentence":"loads in flight"}],"points":2,"default":"unroll=1","space":"00","strategy":"ils","seed":1}
{"config":"unroll=1","us":8.0,"samples":[8.0]}
TEXT
expect 0 '<html' tune report sweep.jsonl
expect 0 'gather rows=8 count=8 width=64' tune report sweep.jsonl sweep.jsonl
expect 0 'wrote sweep.html' tune report sweep.jsonl --output sweep.html
check 'the page is a page' grep -q '</html>' sweep.html
expect 1 'nowhere' tune report sweep.jsonl --output nowhere/sweep.html
rm records.jsonl

# ---- without a device
expect 5 'QUERN_LIBCUDA' run gather width=8 --device cuda:0
expect 5 'no device' run gather width=8 --out out=y.npy
expect 5 'no device' run gather width=8 --sweep
expect 5 'driver' bench gather
check 'nothing is written half' test ! -e y.npy
expect 2 'cuda:N' run gather width=8 --device hosts
expect 5 'QUERN_HOSTDRIVER_LIBRARY' run gather width=8 --device host

# ---- with a compiler, if there is one
"$quern" doctor --json >out 2>err
if grep -q '"nvrtc":{"path"' out; then
  expect 0 'not launched' run gather width=8 --in source=u2.npy --in index=index.npy --verify
  expect 0 '"image":"disk","compiles":0' run gather width=8 --in source=u2.npy --in index=index.npy --json
  expect 0 '"device":null' run pointwise width=8 multiplier=0.5 --json
  expect 0 'not launched' run gather width=0 count=0
  expect 0 'compiled' prewarm gather width=8 --arch sm_80,sm_100a --jobs 2
  expect 0 '"image":"disk"' prewarm gather width=8 --arch sm_80 --json
  expect 0 registers inspect gather width=8
  expect 0 '.visible .entry' inspect gather width=8 --ptx
  expect 0 'namespace quern::spec' inspect gather width=8 --source
  expect 0 '"occupancy_percent"' inspect gather width=8 --json --variant 0
  expect 0 prewarmed cache list
  expect 0 '"entries"' cache stats --json
  key=$("$quern" cache list --json | sed -n '1s/.*"key":"\([^"]*\)".*/\1/p')
  expect 0 registers cache show "$key"
  expect 0 '.version' cache show "${key%/*}" --emit ptx
  expect 0 ELF cache show "$key" --emit cubin
  expect 2 'no key starts with' cache show zz
  expect 2 'several keys' cache show ''
  expect 2 'it takes cubin' cache show "$key" --emit sass
  printf '# a comment\n\n{"problem": "gather width=8", "arch": "sm_90a"}\n{"problem": "gather width=8"}\n' >good.jsonl
  expect 0 disk prewarm --manifest good.jsonl
  printf '{"problem": "gather width=8"}\nnope\n{"problem": "gather wdth=8"}\n{"problem": "gather", "arch": "sm_1"}\n' >bad.jsonl
  expect 2 'line 2' prewarm --manifest bad.jsonl
  expect 2 'line 4' prewarm --manifest bad.jsonl
  expect 0 '"state":"ok"' cache verify --json
  expect 0 '"verdict":"hit"' cache explain gather width=8 --json
  expect 0 'asked for' cache explain gather width=8 mode=zero
  expect 0 '"field":"target"' cache explain gather width=8 --arch sm_120 --json
  expect 0 '"damaged":0' cache export all.pack --json
  expect 0 '"outdated"' cache prune --max-entries 1 --json
  expect 0 '"entries":1,' cache stats --json
  expect 0 removed cache clear
  QUERN_CACHE_LAYERS=all.pack expect 0 '"image":"disk","compiles":0' run gather width=8 --json
  QUERN_CACHE_LAYERS=all.pack expect 0 'all.pack' cache stats
  QUERN_CACHE_LAYERS=all.pack expect 0 '"layers":' cache stats --json
  expect 0 '"imported"' cache import all.pack --json
  expect 0 '"imported":0' cache import all.pack --json
  expect 0 '"image":"disk","compiles":0' run gather width=8 --nvrtc "$work/none.so" --json
  QUERN_CACHE=off expect 0 compiled prewarm gather width=16 --arch sm_90a --pack more.pack
  QUERN_CACHE=off expect 0 compiled prewarm gather width=24 --arch sm_90a --pack more.pack
  expect 0 removed cache clear
  cp -r "$work" "$work-moved"
  for width in 16 24; do
    QUERN_CACHE_LAYERS=$work-moved/more.pack expect 0 '"image":"disk","compiles":0' \
      run gather width=$width --nvrtc "$work/none.so" --json
  done
  rm -r "$work-moved"
  chmod 666 more.pack
  QUERN_CACHE_LAYERS=more.pack expect 0 'chmod go-w' cache stats
  expect 2 'is no pack' prewarm gather width=8 --pack "$quern"
  expect 2 'No such file' prewarm gather width=8 --pack "$work/none/x.pack"
  QUERN_CACHE_MAX_BYTES=1K expect 3 'could not be kept' prewarm gather width=8
  QUERN_CACHE_MAX_ENTRIES=1 expect 3 'went to make room' cache import all.pack
  QUERN_CACHE=off expect 1 'nothing to export' cache export all.pack
  expect 0 removed cache clear
  expect 0 compiled prewarm gather width=8
  path=$(find "$QUERN_CACHE_DIR" -type f -name '[0-9a-f]*' | head -1)
  printf x >>"$path"
  expect 3 damaged cache verify
  expect 0 '"damaged":1' cache prune --json
  expect 0 ok cache verify
  expect 0 removed cache clear
  expect 0 '"entries":0' cache stats --json
else
  echo "skipped: no NVRTC"
fi
expect 2 'cannot be read' prewarm --manifest none.jsonl
expect 2 'not both' prewarm gather --manifest none.jsonl
expect 2 'stats, list' cache
expect 2 'stats, list' cache prunes
expect 2 'does not take --emit' cache list --emit ptx
expect 2 'takes the file to write' cache export
expect 2 'is no pack' cache import "$quern"
expect 2 'is no pack' cache import "$work/none.qpack"
expect 2 'takes a problem' cache explain
expect 2 'width' cache explain gather wdth=8
expect 2 'it takes a number' cache prune --max-bytes 5Q
expect 2 'takes a key' cache show

# ---- no compiler, no cache
expect 4 'QUERN_NVRTC' run gather width=24 --nvrtc "$work/none.so"
expect 4 'QUERN_NVRTC' prewarm gather width=24 --nvrtc "$work/none.so"
expect 4 'QUERN_NVRTC' bench --compile --nvrtc "$work/none.so"
expect 0 'none.so' doctor --nvrtc "$work/none.so"
touch file
expect 2 'writ' prewarm gather width=8 --cache-dir "$work/file"
QUERN_CACHE=off expect 1 'read-only or off' prewarm gather width=8
expect 0 'usable' cache stats --cache-dir "$work/file"
expect 1 'quern:' cache list --cache-dir "$work/file"

# ---- on the host driver, if it was built and there is a C++ compiler
unset QUERN_HOSTDRIVER_LIBRARY
if [ -e "$(dirname "$quern")/libquern_hostdriver.so" ] && command -v c++ >/dev/null; then
  expect 0 'verified    yes' run gather rows=50 count=60 width=77 --device host --verify
  expect 0 'runs on the CPU, by the host driver' run gather rows=50 count=60 width=77 --verify
  expect 0 '"device":"host","arch":"host","verified":true' run pointwise rows=9 width=24 --verify --json
  check 'no time is claimed for the host' sh -c '! grep -q kernel_us out'
  expect 0 '"image":"disk","compiles":0' run pointwise rows=9 width=24 --json
  expect 0 '"arch":"host_80"' prewarm gather width=8 --arch host_80 --json
  expect 0 '|              16.0 |  16.0 |' inspect pointwise rows=64 width=256 --accesses
  expect 0 '"operand":"out"' inspect gather rows=64 count=64 width=256 --accesses --json
  expect 2 'accesses' inspect gather width=256 --accesses --ptx
  expect 2 'means nothing on the host' run gather width=8 --sweep --device host
  expect 5 'needs a launch' run gather width=8 --sweep
  check 'nothing is printed before that' test ! -s out
  expect 5 'sees' run gather width=8 --device host:7
  expect 0 '"verified":true' bench --problem 'gather rows=64 count=64 width=40' --device host --json
  QUERN_CXX=$work/none expect 4 'QUERN_CXX' run gather rows=8 count=8 width=8 --device host
  printf '\006\000\000\000\000\000\000\000' >index
  npy index.npy '<i8' '(1,)' 0 && cat index >>index.npy
  expect 1 'past the end of "source"' run gather rows=5 width=8 --in index=index.npy --device host
  expect 0 'host_compiler' doctor --json
fi

echo "$failures failed"
[ "$failures" = 0 ]
