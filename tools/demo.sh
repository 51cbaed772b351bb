#!/usr/bin/env bash
# Gets what is missing, builds the library and the command, and runs the main job twice: the second run compiles nothing.
# On a GPU where there is one, else on the CPU by the host driver; compiling for sm_90a needs no GPU either.
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "$0")/setup.sh"
cd "$root"
mkdir -p build

step "set-up" setup
step "build (preset release)" build release quern quern_cli quern_hostdriver

quern=build/release/quern
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
