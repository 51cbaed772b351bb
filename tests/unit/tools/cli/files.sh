# shellcheck shell=bash disable=SC2154
# Files that the command reads and writes: .npy, saved spaces, records, sweeps. Sourced by ../cli_test.sh.

# ---- .npy files
npy u2.npy '<u2' '(4, 8)' 64
npy index.npy '<i8' '(3,)' 24
npy f4.npy '<f4' '(4, 8)' 128
npy fortran.npy '<u2' '(4, 8)' 64 True
npy short.npy '<u2' '(4, 8)' 63
npy huge.npy '<u2' '(4611686018427387904, 4611686018427387904)' 8
expect 2 'no such file' run gather width=8 --in source=none.npy
npy f8.npy '<f8' '(4, 8)' 256
npy big.npy '>f4' '(4, 8)' 128
npy v1.npy '|V1' '(4, 8)' 32
npy i4.npy '<i4' '(3,)' 12
expect 2 'takes bf16 (<u2' run gather width=8 dtype=bf16 --in source=f4.npy
expect 2 "; with dtype=f32 the file's type fits; array.astype(ml_dtypes.bfloat16) converts it" run gather width=8 dtype=bf16 --in source=f4.npy
expect 2 "; with index=i32 the file's type fits" run gather width=8 index=i64 --in index=i4.npy
expect 2 "array.astype('<f4') converts it" run pointwise width=8 dtype=f32 --in x=big.npy
expect 2 "takes bf16 (<u2 or <V2 or |V2) of shape (4, 8) in C order; array.astype" run pointwise width=8 --in x=f8.npy
expect 2 'with dtype=e4m3 or dtype=e5m2 or dtype=e8m0 the' run gather width=8 --in source=v1.npy
npy bools.npy '|b1' '(3,)' 3
expect 2 "it holds |b1 of shape (3,); index takes i64 (<i8) of shape (3,) in C order; with index=u8 the file's type fits" run gather width=8 --in index=bools.npy
expect 2 '(4, 16)' run gather width=16 --in source=u2.npy
expect 2 'in Fortran order; source takes bf16 (<u2 or <V2 or |V2) of shape (4, 8) in C order; numpy.ascontiguousarray(array) puts' run gather width=8 --in source=fortran.npy
expect 2 'bytes of data' run gather width=8 --in source=short.npy
expect 2 'exceeds the address space' run gather width=8 --in source=huge.npy
expect 2 'not a .npy' run gather width=8 --in source="$quern"
expect 2 'has no input' run gather width=8 --in sauce=u2.npy
expect 2 'has no input' run gather width=8 --in out=u2.npy
expect 2 'has no input "q"; it has v' run pointwise width=8 expr='out = relu(v)' --in q=u2.npy
expect 2 'inputs.0 takes f32' run pointwise width=8 dtype=f32 expr='out = relu(v)' --in v=u2.npy
expect 2 'this problem has no x' run pointwise width=8 expr='out = relu(v)' --in x=u2.npy
expect 2 'this problem has no scale' run gather width=8 scale=none --in scale=f4.npy
expect 2 'given twice' run gather width=8 --in source=u2.npy --in source=u2.npy
expect 2 'NAME=FILE' run gather width=8 --in u2.npy
expect 2 'does not exist' run gather width=8 --out out=nowhere/y.npy
expect 2 'is a directory' run gather width=8 --out out="$work"
expect 2 'has no output' run gather width=8 --out source=y.npy
ln -s both.npy both.link
expect 2 '--out scales=both.link is the file of out too; give each output a file of its own' run mxfp8 cols=64 --out out=./both.npy --out scales=both.link

# ---- saved tuning spaces
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
expect 2 'give a problem, --draw N, --manifest FILE or --bench-table' tune
expect 2 'rows is open' tune gather width=64
expect 2 '--budget 0 is invalid' tune gather rows=4 count=4 width=64 --budget 0
expect 2 'strategy' tune gather rows=4 count=4 width=64 --strategy no_such
expect 2 'it takes cuda:N' tune gather rows=4 count=4 width=64 --device gpu0
expect 2 '--regime hot is invalid; it takes cold, warm' tune gather rows=4 count=4 width=64 --regime hot
expect 2 '--output belongs to quern tune report, not to quern tune' tune gather rows=4 count=4 width=64 --output x.html
expect 2 '--records belongs to quern tune show, quern tune check, not to quern tune' tune gather rows=4 count=4 width=64 --records x.jsonl
expect 2 'every config of one problem' tune --bench-table --save-space x.jsonl
expect 2 'does not take --record-space' tune --bench-table --record-space x.jsonl
expect 2 'quern tune report takes FILE...' tune report
expect 2 'no such file' tune --replay none.json
expect 2 '--strategy bees is invalid; it takes ils, random' tune --replay space.json --strategy bees
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
expect 2 'belongs to quern tune report, not to quern tune show' tune show --output x.html
expect 0 '"gather rows=8 count=8 width=64"' tune show --records records.jsonl --json
expect 2 'quern tune merge takes OUT FILE...' tune merge
expect 2 'quern tune merge takes OUT FILE...' tune merge all.jsonl
expect 2 'none.jsonl: no such file' tune merge all.jsonl none.jsonl
expect 2 '--records belongs to quern tune show, quern tune check, not to quern tune merge' tune merge all.jsonl records.jsonl --records x.jsonl
check 'nothing is written for a wrong merge' test ! -e all.jsonl
record problem='gather rows=8 count=8 width=128' >more.jsonl
expect 0 '"records":3,"older":1,"newer_schema":0,"damaged":0' tune merge all.jsonl records.jsonl more.jsonl --json
expect 0 'gather rows=8 count=8 width=128' tune show --records all.jsonl
sed 's/unroll=1/unroll=2/' records.jsonl >bad_records.jsonl
expect 3 'bad_records.jsonl:3: its check does not hold' tune merge all.jsonl bad_records.jsonl
expect 0 'skipped: ' tune show --records bad_records.jsonl
: >blank.jsonl
expect 2 'no such records; sweep first: quern tune FAMILY FIELD=VALUE...' tune check --records blank.jsonl
expect 2 'sweep first: quern tune gather width=65' tune check gather width=65
expect 2 'did you mean width' tune check gather wdth=64
expect 2 'none.jsonl: No such file' tune check --records none.jsonl
expect 2 'it takes cuda:N' tune check --device gpu0
expect 2 '--device is given twice' tune check --device cuda:0 --device cuda:1
expect 2 '--regime belongs to quern tune, not to quern tune check' tune check --regime warm
expect 2 '--budget belongs to quern tune, not to quern tune check' tune check --budget 5
expect 2 '--jobs belongs to quern tune, not to quern tune check' tune check --jobs 3
expect 2 '--seeds goes with --replay only' tune gather rows=4 count=4 width=64 --seeds 3
expect 2 '--seed does not go with --replay' tune --replay space.json --seed 3
expect 2 '--json belongs to quern tune, quern tune show, quern tune check, quern tune merge, not to quern tune report' tune report x.jsonl --json
expect 2 '--manifest belongs to quern tune, not to quern tune check' tune check --manifest problems.jsonl
expect 2 '--timeout 0 is out of range' tune check --timeout 0
expect 2 '--memory' tune check --memory lots
expect 2 'belongs to quern tune report, not to quern tune check' tune check --output x.html
QUERN_LIBCUDA=$no_driver expect 5 'QUERN_LIBCUDA' tune check
check 'no row is printed without a device' test ! -s out
QUERN_CACHE=off expect 1 '--in-process needs none' tune check

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
expect 0 'problem,device,target,regime,evaluation,role,' tune report sweep.jsonl --csv
expect 0 'wrote sweep.csv' tune report sweep.jsonl --csv --output sweep.csv
expect 0 'id="comparison"' tune report sweep.jsonl sweep.jsonl --compare
expect 2 '--compare takes two sweeps; 1 was given' tune report sweep.jsonl --compare
expect 2 '--csv does not go with --compare' tune report sweep.jsonl sweep.jsonl --compare --csv
gzip -k sweep.jsonl
expect 0 'wrote gzipped.html' tune report sweep.jsonl.gz --output gzipped.html
check 'a gzipped sweep gives the same page' cmp sweep.html gzipped.html
head -c 100 sweep.jsonl.gz >cut.jsonl.gz
expect 2 'cut.jsonl.gz: its gzipped data is truncated' tune report cut.jsonl.gz
expect 2 'space.json.gz: line 1' tune report space.json.gz
check 'the page is a page' grep -q '</html>' sweep.html
expect 2 'nowhere does not exist' tune report sweep.jsonl --output nowhere/sweep.html
expect 2 'is a directory; name a file' tune report sweep.jsonl --output "$work"
rm records.jsonl

# ---- output files: an existing file that is not a regular file is written in place
ln -s page.html page.link
expect 0 'wrote page.link' tune report sweep.jsonl --output page.link
check 'a link stays, and its target is written' sh -c 'test -L page.link && cmp page.html sweep.html'
mkfifo page.fifo
timeout 20 cat page.fifo >fifo.html &
expect 0 'wrote page.fifo' tune report sweep.jsonl --output page.fifo
wait $!
check 'a FIFO stays, and its reader gets the page' sh -c 'test -p page.fifo && cmp fifo.html sweep.html'
ln -s /proc/self/fd/1 stdout.link  # as /dev/stdout is one, which no fault here may cost the machine
expect 0 '</html>' tune report sweep.jsonl --output stdout.link
