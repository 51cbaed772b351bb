# shellcheck shell=bash disable=SC2154
# On the host driver, if it was built and there is a C++ compiler. Sourced by ../cli_test.sh.

# ---- on the host driver, if it was built and there is a C++ compiler
unset QUERN_HOSTDRIVER_LIBRARY
host_driver=$(dirname "$quern")/../libquern_hostdriver.so
if [ -e "$host_driver" ] && command -v c++ >/dev/null; then
  expect 0 'verified    yes' run gather rows=50 count=60 width=77 --device host --verify
  expect 0 'runs on the CPU, by the host driver' run gather rows=50 count=60 width=77 --verify
  expect 0 '"device":"host","arch":"host","verified":true' run pointwise rows=9 width=24 --verify --json
  check 'no time is claimed for the host' grep -q '"kernel_us":null' <<<"$(cat out)"
  expect 0 '"image":"disk","compiles":0' run pointwise rows=9 width=24 --json
  expect 0 '"device":"host"' run pointwise rows=9 width=24 --device cpu --json
  QUERN_LIBCUDA=$host_driver expect 0 '"arch":"host"' prewarm pointwise rows=9 width=24 --arch native --json
  program='a: row; a_: number; out = max(v, a * a_)'
  expect 0 'verified    yes' run pointwise width=8 expr="$program" --in v=u2.npy --set a_=2 --out out=program.npy --verify
  check 'an output of a program is written' test -s program.npy
  expect 0 'verified    yes' run pointwise rows=9 width=24 expr='x = relu(x - mean(x))' --in-place --verify
  expect 2 'no output has the name' run pointwise rows=9 width=24 expr='y = relu(x)' --in-place --device host
  expect 2 '1:13: ' run pointwise width=8 expr='out = relu(v' --device host
  expect 2 'no run-time number "m"' run pointwise width=8 expr="$program" --set m=2 --device host
  expect 2 'write "v: number;" in expr' run pointwise width=8 expr="$program" --set v=2 --device host
  ln -s y.npy out.link
  expect 0 'written     out.link' run pointwise rows=9 width=24 --out out=out.link
  check 'a link to an output stays' sh -c 'test -L out.link && test -s y.npy'
  npy experts.npy '<u2' '(2, 4, 64)' 1024
  expect 0 'mxfp8 rows=4 cols=64 experts=2' run mxfp8 --in source=experts.npy --out out=made.npy
  check 'an output with three dimensions is written with three' grep -qa '(2, 4, 64)' made.npy
  npy mask.npy '|b1' '(8, 4)' 32
  expect 0 'verified    yes' run moe_map tokens=8 map=mask --in map=mask.npy --verify
  expect 0 'written     status.npy' run mxfp8 rows=64 cols=64 groups=2 --out status=status.npy
  check 'a status without its input begins as 0' test "$(tail -c 4 status.npy | od -An -tx1)" = ' 00 00 00 00'
  expect 0 'written     /dev/null' run mxfp8 rows=4 cols=64 --out out=/dev/null --out scales=/dev/null
  # Finding A9: an image for the CPU is code that this process would run.
  expect 0 'host.pack holds 1 image' prewarm gather width=9 --arch host --pack host.pack
  expect 3 'run `quern cache import --host-code host.pack`' cache import host.pack --cache-dir "$work/imported"
  expect 3 '"imported":0,"bytes":0,"known":0,"damaged":0,"refused":1' cache import host.pack --cache-dir "$work/imported" --json
  expect 0 '"imported":1,' cache import --host-code host.pack --cache-dir "$work/imported" --json
  expect 0 '| disk ' prewarm gather width=9 --arch host --cache-dir "$work/imported"
  expect 0 '"arch":"host_80"' prewarm gather width=8 --arch host_80 --json
  expect 0 '|               8.0 |   8.0 |' inspect pointwise rows=64 width=256 --accesses
  expect 0 '2.0 times the half-lines needed' inspect gather rows=65536 count=1024 width=8 dtype=f32 --accesses
  expect 0 '| total  ' inspect pointwise rows=64 width=256 --accesses
  expect 0 '"compulsory_bytes":8192,"half_line_bytes":8192' inspect gather rows=65536 count=128 width=16 dtype=f32 --accesses --json
  expect 0 '"site":"total","access":"store","operand":null,"bytes":null' inspect gather rows=64 count=64 width=256 --accesses --json
  expect 0 '"operand":"out"' inspect gather rows=64 count=64 width=256 --accesses --json
  expect 2 'accesses' inspect gather width=256 --accesses --ptx
  expect 5 'sees' run gather width=8 --device host:7
  expect 0 '"verified":true' bench --problem 'gather rows=64 count=64 width=40' --device host --json
  QUERN_CXX=$work/none expect 4 'QUERN_CXX' run gather rows=8 count=8 width=8 --device host
  printf '\006\000\000\000\000\000\000\000' >index
  npy index.npy '<i8' '(1,)' 0 && cat index >>index.npy
  expect 1 'past the end of "source"' run gather rows=5 width=8 --in index=index.npy --device host
  expect 1 'host_compiler' doctor --json
  # Kernels that are wrong: a compiler that edits gather/rows.cuh before it compiles.
  # wrong_compiler FILE SED-SCRIPT
  wrong_compiler() {
    printf '#!/bin/sh\n[ "$1" = --version ] || sed -i %s gather/rows.cuh\nexec c++ "$@"\n' "'$2'" >"$1"
    chmod +x "$1"
  }
  wrong_compiler takes_row_0 's/named = zero ? 0 : row;/named = 0;/'
  wrong_compiler changes_index 's/^  return bit_cast<Index>(raw);/  if (inside) *(static_cast<Index*>(const_cast<void*>(p.index)) + position) = -9;\n&/'
  few='gather rows=5 count=4 width=2 --device host'  # a thread a row, so that none reads a changed index
  # shellcheck disable=SC2086
  {
    QUERN_CXX=$work/takes_row_0 expect 1 'disagrees with the reference' run $few --verify
    QUERN_CXX=$work/takes_row_0 expect 1 '"verified":false' run $few --verify --json
    QUERN_CXX=$work/takes_row_0 expect 0 'not timed' run $few
    QUERN_CXX=$work/changes_index expect 1 'the kernel changed index' run $few --verify
    QUERN_CXX=$work/takes_row_0 expect 1 '"verified":false' bench --problem 'gather rows=5 count=4 width=2' --device host --json
  }
  # With a driver, which the host driver is, nothing is wrong; or one thing.
  export QUERN_LIBCUDA=$host_driver
  if "$quern" inspect gather width=8 >out 2>err; then
    expect 0 'Nothing is wrong.' doctor
    expect 0 '"problems":[]' doctor --json
    QUERN_CACHE_DIR=$work/file expect 1 'Wrong: nothing is kept on disk' doctor
    QUERN_CACHE_DIR=$work/file expect 1 '"problems":["nothing is kept on disk' doctor --json
  fi
  unset QUERN_LIBCUDA
else
  skip 'runs on the host driver' 'no host driver or no C++ compiler'
fi
