# shellcheck shell=bash disable=SC2154
# Compares docs/json.md with the command's output. Sourced by ../cli_test.sh.

all=
if [ -e "$host_driver" ] && command -v c++ >/dev/null && QUERN_LIBCUDA=$host_driver "$quern" inspect gather width=8 >out 2>err; then
  all=--all
  tiny='gather rows=1 count=1 width=1 dtype=u8'
  # shellcheck disable=SC2086
  QUERN_LIBCUDA=$host_driver expect 0 '"schema":"quern.tune/1"' tune $tiny --device host --budget 2 --in-process --json
  record problem="$tiny" device='quern host device (sm_90)' target=host >mine.jsonl
  QUERN_LIBCUDA=$host_driver expect '0 3' '"schema":"quern.tune.check/1"' tune check --records mine.jsonl --device host --in-process --json
  expect 0 '"schema":"quern.bench.host/1"' bench mx_scales --host --json
  expect 0 '"source"' inspect gather width=8 --all --json
fi
if [ -n "$all" ]; then
  QUERN_HOSTDRIVER='memory_rate=1000' expect 0 '"schema":"quern.bench/1"' bench --problem 'gather rows=64 count=64 width=64' --device host --json
  QUERN_HOSTDRIVER='memory_rate=1000' expect 0 '"schema":"quern.bench.draws/1"' bench mx_scales --draw 1 --seed 7 --device host --json
elif env -u CUDA_VISIBLE_DEVICES "$quern" bench --problem 'gather rows=64 count=64 width=64' --json >out 2>err; then
  cat out >>lines.jsonl
else
  skip 'JSON lines that need a kernel' 'no host driver, C++ compiler or NVRTC'
fi
"$page_checker" "$json_page" lines.jsonl $all >out 2>err
status=$?
check "docs/json.md has every printed member:  $(cat out err | head -20)" test $status = 0
"$page_checker" <(sed '/^| `arch` /d' "$json_page") lines.jsonl >out 2>err
check 'a member that is not on the page is found' grep -q 'arch is printed and not on the page' <<<"$(cat out)"
"$page_checker" <(sed 's/^| `images` | integer/| `images` | text/' "$json_page") lines.jsonl >out 2>err
check 'a type that is not the page'"'"'s is found' grep -q 'images is not text' <<<"$(cat out)"
"$page_checker" <(sed 's/^## `quern.list.1`/&\n| `colour` | text | | none |/' "$json_page") lines.jsonl >out 2>err
check 'a member that is not printed is found' grep -q 'colour is on the page and not printed' <<<"$(cat out)"
