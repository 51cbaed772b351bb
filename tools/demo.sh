#!/usr/bin/env bash
# Installs what is missing, builds the library and the command, and runs the main job twice: the second run compiles
# nothing.
# Then it installs both into a folder of the build, and builds and runs an application against that.
# Uses a GPU if there is one, else the host driver on the CPU; compiling for sm_90a needs no GPU either.
# usage: tools/demo.sh [PRESET]     default release
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "$0")/setup.sh"
cd "$root"
mkdir -p build

preset=${1:-release}
step "set-up" setup
step "build (preset $preset)" build "$preset" quern quern_tuner quern_cli quern_hostdriver

quern=build/$preset/bin/quern
export QUERN_CACHE_DIR=$root/build/demo-cache
export QUERN_LOG=${QUERN_LOG:-info}

run() { step "quern $*" "$quern" "$@"; }
for pass in first second; do
  say
  say "---- $pass run; images are kept in build/demo-cache ----"
  run run gather width=4096 rows=8192 count=8192 dtype=bf16 --verify
  run prewarm gather width=4096 dtype=bf16 --arch sm_90a
  run run pointwise width=4096 rows=4096 op=bias_act activation=gelu dtype=bf16 --verify
done
run inspect gather width=4096 dtype=bf16 --arch sm_90a
run inspect gather width=4096 rows=64 count=64 dtype=bf16 --accesses
run cache list

# ---- An application against the installed package --------------------------------------------------------------------

demo=build/$preset/demo
# quietly LOG COMMAND…: prints its output only if it failed.
quietly() { "${@:2}" >"$demo/$1.log" 2>&1 || { cat "$demo/$1.log"; return 1; }; }
build_app() {
  quietly configure cmake -S tests/consumer/app -B "$demo/app" -DCMAKE_PREFIX_PATH="$root/$demo/prefix" &&
    quietly build cmake --build "$demo/app" --target app17
}
run_app() {
  local output
  output=$("$demo/app/app17" "$QUERN_CACHE_DIR") || return
  if ! grep -q '^launched' <<<"$output"; then
    say "no GPU: QUERN_LIBCUDA names the installed host driver, and the application's kernel runs on the CPU"
    output=$(QUERN_LIBCUDA=$(find "$root/$demo/prefix" -name libquern_hostdriver.so) \
      "$demo/app/app17" "$QUERN_CACHE_DIR") || return
  fi
  say "$output"
}

rm -rf "$demo" && mkdir "$demo"
step "install into $demo/prefix" quietly install cmake --install "build/$preset" --prefix "$demo/prefix"
step "build tests/consumer/app against it" build_app
step "run the application" run_app
