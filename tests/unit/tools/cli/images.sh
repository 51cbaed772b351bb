# shellcheck shell=bash disable=SC2154
# Without a device; with a compiler, if there is one; with neither compiler nor cache. Sourced by ../cli_test.sh.

# ---- without a device
QUERN_LIBCUDA=$no_driver expect 5 "$no_driver: cannot open" run gather width=8 --device cuda:0
# A named driver that cannot be used is an error, not a reason to run elsewhere.
QUERN_LIBCUDA=$no_driver expect 5 "QUERN_LIBCUDA=$no_driver is not a driver" run gather width=8
QUERN_LIBCUDA=/etc/passwd expect 5 'QUERN_LIBCUDA=/etc/passwd is not a driver' run gather width=8 --json
check 'nothing is run in its place' test ! -s out
QUERN_LIBCUDA=libm.so.6 expect 5 'libm.so.6 has no cu' run gather width=8
QUERN_LIBCUDA=$no_driver expect 5 "QUERN_LIBCUDA=$no_driver is not a driver" bench --host
expect 5 'no device' run gather width=8 --out out=y.npy
expect 5 '--verify needs a launch, and there is no device' run gather width=8 --verify
expect 5 '--verify needs a launch, and there is no device' run gather width=8 --verify --json
check 'nothing is printed where nothing is verified' test ! -s out
expect 2 '--arch does not launch; it does not go with --verify' run gather width=8 --verify --arch sm_90a
expect 5 'driver' bench gather
check 'nothing is written half' test ! -e y.npy
expect 2 'cuda:N' run gather width=8 --device hosts
expect 5 'QUERN_HOSTDRIVER_LIBRARY' run gather width=8 --device host

# ---- with a compiler, if there is one
"$quern" doctor --json >out 2>err
if grep -q '"nvrtc":{"path"' out; then
  expect 0 'not launched' run gather width=8 --in source=u2.npy --in index=index.npy
  expect 0 '"image":"disk","compiles":0' run gather width=8 --in source=u2.npy --in index=index.npy --json
  expect 0 "from the files' types: dtype=f64 index=i32" run gather width=8 --in source=f8.npy --in index=i4.npy
  expect 0 '"problem":"gather width=8 dtype=f64 index=i32"' run gather width=8 --in source=f8.npy --in index=i4.npy --json
  expect 0 '"problem":"gather width=8"' run gather width=8 dtype=bf16 --in source=u2.npy --json
  expect 0 '"device":null' run pointwise width=8 op=add_mul_act multiplier=0.5 --json
  expect 0 '"device":null' run pointwise width=8 activation=leaky_relu --set alpha=0.5 --json
  expect 0 'not launched' run gather width=0 count=0
  expect 0 'compiled' prewarm gather width=8 --arch sm_80,sm_100a --jobs 2
  expect 0 '"image":"disk"' prewarm gather width=8 --arch sm_80 --json
  expect 0 '"problem":"gather width=8","arch":"sm_80","image":"disk"' prewarm gather width=8 --arch A100 --json
  expect 0 '"arch":"sm_120a"' prewarm gather width=8 --arch all --jobs 2 --json
  check 'all architectures are one item each' test "$(sort -u out | wc -l)" = 7
  expect 0 registers inspect gather width=8
  expect 0 occupancy inspect rope table_rows=4096  # fewer than the large extents that stand for open ones
  expect 0 '.visible .entry' inspect gather width=8 --ptx
  expect 0 'namespace quern::spec' inspect gather width=8 --source
  expect 0 '"occupancy_percent"' inspect gather width=8 --json --variant 0
  expect 0 prewarmed cache list
  expect 0 '"prewarmed":true' cache list --json
  expect 0 '"entries"' cache stats --json
  expect 0 '"entries"' cache --json stats
  key=$("$quern" cache list --json | sed -n '1s/.*"key":"\([^"]*\)".*/\1/p')
  expect 0 registers cache show "$key"
  expect 0 '"what":[' cache show "$key" --json
  expect 0 '.version' cache show "${key%/*}" --emit ptx
  expect 0 ELF cache show "$key" --emit cubin
  expect 2 'no key starts with' cache show zz
  expect 2 'several keys' cache show ''
  expect 2 'it takes cubin' cache show "$key" --emit sass
  printf '# a comment\n\n{"problem": "gather width=8", "arch": "sm_90a"}\n{"problem": "gather width=8"}\n' >good.jsonl
  expect 0 disk prewarm --manifest good.jsonl
  # Command-line options override those of a line.
  {
    echo '{"problem": "gather width=8", "arch": "host"}'
    echo '{"problem": "gather width=8", "device_model": "NVIDIA H200"}'
    echo '{"problem": "gather width=8 dtype=u8", "arch": "sm_80", "config": "unroll=2"}'
  } >recorded.jsonl
  expect 0 '"problem":"gather width=8","arch":"sm_100a"' prewarm --manifest recorded.jsonl --arch sm_90a,sm_100a --json
  check 'a typed --arch wins over the lines, each item once' test "$(wc -l <out) $(grep -c '"arch":"sm_90a"' out) $(grep -c '"arch":"sm_100a"' out)" = '4 2 2'
  expect 0 '"arch":"sm_90a"' prewarm --manifest recorded.jsonl --device-model 'NVIDIA H100 PCIe' --json
  check 'a typed --device-model wins over the lines' test "$(grep -c '"arch":"sm_90a"' out)" = 2
  expect 0 '' cache clear
  expect 0 compiled prewarm --manifest recorded.jsonl --arch sm_90a --config unroll=8
  # A typed --config wins over the lines: without it this image would not be there.
  expect 0 '"image":"disk","compiles":0' run gather width=8 dtype=u8 --config unroll=8 --arch sm_90a --json
  printf '{"problem": "gather width=8"}\nnope\n{"problem": "gather wdth=8"}\n{"problem": "gather", "arch": "sm_1"}\n' >bad.jsonl
  # --check reports cache hits without compiling.
  expect 0 '' cache clear
  expect 3 '"arch":"sm_90a","image":"missing","images":2,"missing":2' prewarm --manifest good.jsonl --check --json
  check 'the number of images is printed' grep -q '^quern: 2 images would be compiled' <<<"$(cat err)"
  expect 0 '' cache stats --json
  check 'nothing was compiled' grep -q '"entries":0' <<<"$(cat out)"
  expect 0 compiled prewarm --manifest good.jsonl
  expect 0 '| gather width=8 | sm_90a | there |      2 |       0 |' prewarm --manifest good.jsonl --check
  expect 3 '"missing":2' prewarm gather width=8 --arch sm_90a,sm_100a --check --json
  # A compiler is not needed for it, nor a directory that can be written.
  expect 0 '"image":"there"' prewarm gather width=8 --check --nvrtc "$work/none.so" --json
  QUERN_CACHE=read-only expect 0 there prewarm gather width=8 --check
  expect 2 'neither --jobs nor --pack' prewarm gather --check --pack x.pack
  expect 2 'neither --jobs nor --pack' prewarm gather --check --jobs 2
  # Manifests that are not regular files.
  expect 0 '| disk ' prewarm --manifest - <good.jsonl
  expect 0 '| disk ' prewarm --manifest /dev/stdin <good.jsonl
  expect 0 '| disk ' prewarm --manifest <(cat good.jsonl)
  expect 0 '| disk ' prewarm --manifest - < <(gzip -c good.jsonl)
  expect 2 'standard input has 1 bad line; nothing was compiled. --keep-going compiles the others' prewarm --manifest - <<<nope
  expect 0 'standard input has no problem' prewarm --manifest - <<<'# nothing'
  expect 2 'line 2' prewarm --manifest bad.jsonl
  expect 2 'sm_1' prewarm --manifest bad.jsonl
  expect 3 'bad.jsonl:2: invalid JSON' prewarm --manifest bad.jsonl --keep-going
  check 'the others are done' grep -q '^| gather width=8 | sm_90a | disk ' <<<"$(cat out)"
  expect 3 '"sentence":"bad.jsonl:3: gather has no field' prewarm --manifest bad.jsonl --keep-going --json
  check 'a row for each good line, an error for each bad one' test "$(grep -c quern.prewarm/1 out) $(grep -c quern.error/1 out)" = '1 3'
  expect 2 '--keep-going goes with --manifest' prewarm gather --keep-going
  # A family of an application's own stops nothing.
  printf '{"problem": "gather width=8"}\n{"problem": "mine rows=4", "arch": "sm_90a"}\n' >others.jsonl
  expect 3 'others.jsonl:2: there is no family "mine"' prewarm --manifest others.jsonl
  check 'the others are done without --keep-going' grep -q '^| gather width=8 | sm_90a | disk ' <<<"$(cat out)"
  # Rows are printed as they are done: the second item waits for a compiler that never ends, the first row is printed.
  if command -v c++ >/dev/null; then
    printf '#!/bin/sh\ncase " $* " in *" --version "*) exec c++ "$@" ;; esac\necho $$ >%s\nexec sleep 60\n' "$work/slow.pid" >slow-c++
    chmod +x slow-c++
    QUERN_CXX=$work/slow-c++ "$quern" prewarm gather width=8 --arch sm_90a,host --jobs 1 --json >rows 2>/dev/null &
    slow=$!
    for _ in {1..200}; do [ -s rows ] && break; sleep 0.05; done
    check 'a row is printed as it is done' grep -q '"arch":"sm_90a","image":"disk"' rows
    check 'the other is not done yet' kill -0 $slow
    for _ in {1..200}; do [ -s slow.pid ] && break; sleep 0.05; done
    kill $slow "$(cat slow.pid)"
    wait $slow
  else
    skip 'rows as they are done' 'no C++ compiler'
  fi
  expect 2 'line 2' prewarm --manifest bad.jsonl
  expect 0 'empty kernel with all of templates/common' bench gather --compile --samples 1 --json
  check 'compiles are measured: 2 first ones, 3 subjects' test "$(grep -c '^{"schema":"quern.bench.first/1","what"' out) $(grep -c '^{"schema":"quern.bench.compile/1","what"' out)" = '2 3'
  expect 2 'line 4' prewarm --manifest bad.jsonl
  expect 0 '"state":"ok"' cache verify --json
  expect 0 '"verdict":"hit"' cache explain gather width=8 --json
  expect 0 'asked_for' cache explain gather width=8 mode=zero
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
  expect 2 'is not a readable pack' prewarm gather width=8 --pack "$quern"
  expect 2 'No such file' prewarm gather width=8 --pack "$work/none/x.pack"
  QUERN_CACHE_MAX_BYTES=1K expect 3 'could not be kept' prewarm gather width=8
  QUERN_CACHE_MAX_ENTRIES=1 expect 2 'may hold 1 images and' cache import all.pack
  expect 0 compiled prewarm gather width=8 --arch sm_90a --cache-dir "$work/crowded"
  QUERN_CACHE_MAX_ENTRIES=2 expect 0 'evicted to make room' prewarm gather width=8 --arch sm_80 --cache-dir "$work/crowded"
  QUERN_CACHE_MAX_ENTRIES=1 expect 3 '1 image of these problems could not be kept' prewarm gather width=8 --arch sm_90a --cache-dir "$work/crowded"
  expect 0 compiled prewarm gather width=8 --arch sm_90a
  ln -s linked.pack pack.link
  expect 0 '"entries":2' cache export pack.link --json
  expect 0 'pack.link holds 2 images' prewarm gather width=40 --arch sm_90a --pack pack.link
  check 'a link to a pack stays' sh -c 'test -L pack.link && test -f linked.pack'
  # Compressed packs: smaller, and nothing of them is missing where it is asked for.
  expect 2 '--compress goes with --pack' prewarm gather width=8 --compress
  expect 0 'small.pack holds' prewarm gather width=8 --arch sm_90a --pack small.pack --compress
  expect 0 'large.pack holds' prewarm gather width=8 --arch sm_90a --pack large.pack
  check 'a compressed pack is smaller' test "$(wc -c <small.pack)" -lt "$(($(wc -c <large.pack) / 2))"
  export QUERN_CACHE_LAYERS=$work/small.pack
  expect 0 '.version' inspect gather width=8 --ptx --cache-dir "$work/nothing" --nvrtc "$work/none.so"
  expect 0 '__global__' inspect gather width=8 --source --cache-dir "$work/nothing" --nvrtc "$work/none.so"
  expect 0 '| there |' prewarm gather width=8 --arch sm_90a --check --cache-dir "$work/nothing"
  expect 0 '"state":"ok"' cache verify --cache-dir "$work/nothing" --json
  expect 0 '"verdict":"hit"' cache explain gather width=8 --cache-dir "$work/nothing" --json
  key=$("$quern" cache list --cache-dir "$work/nothing" --json | grep -o '[0-9a-f]\{32\}/[0-9a-f]\{32\}' | head -1)
  expect 0 '.version' cache show "$key" --emit ptx --cache-dir "$work/nothing"
  expect 0 '"damaged":0' cache export again.pack --compress --cache-dir "$work/nothing" --json
  check 'a pack of a pack is the same' cmp small.pack again.pack
  mkdir -p no_zstd && : >no_zstd/libzstd.so.1
  LD_LIBRARY_PATH=$work/no_zstd expect 0 'install zstd' cache stats --cache-dir "$work/nothing"
  LD_LIBRARY_PATH=$work/no_zstd expect 1 'install zstd' cache export other.pack --compress --cache-dir "$work/nothing"
  check 'no half of a pack is left' test ! -e other.pack -a ! -e .other.pack.staging
  unset QUERN_CACHE_LAYERS
  QUERN_CACHE=off expect 1 'nothing to export' cache export all.pack
  expect 0 removed cache clear
  expect 0 compiled prewarm gather width=8
  path=$(find "$QUERN_CACHE_DIR" -type f -name '[0-9a-f]*' ! -path '*/.leases/*' | head -1)
  printf x >>"$path"
  expect 3 damaged cache verify
  expect 0 '"damaged":1' cache prune --json
  expect 0 ok cache verify
  # Finding A6: a cache that was restored with umask 002.
  expect 0 compiled prewarm gather width=8
  chmod 775 "$QUERN_CACHE_DIR"/[0-9a-f]*
  expect 0 '"entries":0,"bytes":0,"damaged":0,"untrusted":2' cache stats --json
  expect 0 'chmod -R go-w' cache stats
  expect 3 '"state":"untrusted","why":"mode 0775' cache verify --json
  expect 1 'are not trusted and not used; the first is' doctor
  expect 0 '"untrusted":2' cache prune --json
  expect 0 '0 entries, 0 damaged' cache verify
  expect 0 compiled prewarm gather width=8
  chmod 775 "$QUERN_CACHE_DIR"/[0-9a-f]*
  expect 0 compiled prewarm gather width=8
  expect 0 'disk' prewarm gather width=8
  chmod 775 "$QUERN_CACHE_DIR"/[0-9a-f]*
  expect 0 '"removed":2' cache clear --json
  expect 0 '"entries":0' cache stats --json
else
  skip 'images, manifests and the store' 'no NVRTC'
fi
expect 2 'none.jsonl: no such file' prewarm --manifest none.jsonl
expect 2 'not both' prewarm gather --manifest none.jsonl
expect 2 'stats, list' cache
expect 2 'stats, list' cache prunes
expect 2 '--emit belongs to quern cache show, not to quern cache list' cache list --emit ptx
expect 2 'quern cache export takes FILE' cache export
expect 2 'is not a readable pack' cache import "$quern"
expect 2 'is not a readable pack' cache import "$work/none.qpack"
expect 2 'quern cache explain takes FAMILY' cache explain
expect 2 'width' cache explain gather wdth=8
expect 2 'expected a number' cache prune --max-bytes 5Q
expect 2 'quern cache show takes KEY' cache show

# ---- no compiler, no cache
expect 4 'QUERN_NVRTC' run gather width=24 --nvrtc "$work/none.so"
expect 4 'QUERN_NVRTC' prewarm gather width=24 --nvrtc "$work/none.so"
expect 4 'QUERN_NVRTC' bench --compile --nvrtc "$work/none.so"
expect 1 'none.so' doctor --nvrtc "$work/none.so"
touch file
expect 2 'writ' prewarm gather width=8 --cache-dir "$work/file"
QUERN_CACHE=off expect 1 'read-only or off' prewarm gather width=8
expect 0 'usable' cache stats --cache-dir "$work/file"
# The same sentence has the same exit code: 2 where --cache-dir was typed, else 1.
expect 2 'quern: --cache-dir: ' cache list --cache-dir "$work/file"
QUERN_CACHE_DIR=$work/file expect 1 'is a plain file, not a directory' cache list
QUERN_CACHE_DIR=$work/file expect 1 'prewarm needs a writable directory' prewarm gather width=8
QUERN_CACHE_DIR=$work/file expect 1 "tune's workers share images" tune gather rows=4 count=4 width=64
expect 2 "tune's workers share images" tune gather rows=4 count=4 width=64 --cache-dir "$work/file"
