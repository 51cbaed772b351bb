#!/usr/bin/env bash
# Sets up, builds and runs the tests. Ends with "N passed, M failed"; exits 1 when anything failed.
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "$0")/setup.sh"
cd "$root"
mkdir -p build

stages=(checks format unit store compile host docs consumer gpu compile12 asan tsan fuzz tidy)
tiers=(unit store compile host docs consumer)  # whose tests may run side by side
usage() {
  cat <<'TEXT'
usage: tools/test.sh [STAGE…]     all of them when none is named
  checks     include arrow, words, file sizes
  format     clang-format
  unit       no GPU, no NVRTC
  store      the image store with many processes, kills and losses of power; all sizes: tools/store_full.sh
  compile    every family through NVRTC, a sixth of the long lists, a twelfth of the slow ones; QUERN_TEST_STRIDE=1 for all
  host       every kernel on the CPU, by the host driver
  docs       the commands, listings, examples, links and names of every page and help text
  consumer   host applications against the installed package, add_subdirectory, pkg-config and what cpack makes
  gpu        the kernels on a GPU; skipped where there is none
  compile12  a twentieth and a fortieth of them with the newest NVRTC of CUDA 12
  asan       the unit, store and host tiers under AddressSanitizer and UndefinedBehaviorSanitizer; not every kernel again
  tsan       the tests of the unit tier that start threads, under ThreadSanitizer
  fuzz       the readers of files: the kept inputs, then libFuzzer for 2 s each; tools/fuzz.sh does it for longer
  tidy       clang-tidy
TEXT
}

chosen=()
for argument in "$@"; do
  case " ${stages[*]} " in
    *" $argument "*) chosen+=("$argument") ;;
    *) usage; [ "$argument" = --help ] || [ "$argument" = -h ] || exit 2; exit 0 ;;
  esac
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${stages[@]}")

# chosen_tiers SEPARATOR
chosen_tiers() {
  local stage all=
  for stage in "${chosen[@]}"; do
    [[ " ${tiers[*]} " != *" $stage "* ]] || all+=${all:+$1}$stage
  done
  printf '%s' "$all"
}

# ---- Stages --------------------------------------------------------------------------------------------------------

# The files to format and check.
host_sources() { find base include runtime cache templates tools tests examples python \( -name '*.cpp' -o -name '*.h' \) "$@" | sort; }
all_sources() { find base include runtime cache templates tools tests examples python -regex '.*\.\(cpp\|h\|cu\|cuh\)' | sort; }

# tier LABELS: one, or several as a regular expression.
tier() { ctest --test-dir build/dev --label-regex "^($1)\$" --no-tests=error --verbose --parallel "$(nproc)"; }

stage_checks() {
  local status=0 check
  for check in tools/check/*.sh; do
    if "$check"; then say "ok $check"; else say "not ok $check"; status=1; fi
  done
  return $status
}
stage_format() { all_sources | xargs clang-format --dry-run --Werror; }
stage_tiers() {
  local arrays
  arrays=$(python_test_wheels) || fail "could not get the wheels of NumPy and ml_dtypes"
  export PYTHONPATH=$arrays
  QUERN_TEST_STRIDE=${QUERN_TEST_STRIDE:-6} tier "$(chosen_tiers '|')"
}
stage_gpu() { tier gpu; }
stage_compile12() {
  local nvrtc
  nvrtc=$(cuda12_nvrtc) || fail "could not get the wheel nvidia-cuda-nvrtc-cu12"
  [ -f "$nvrtc" ] || fail "the wheel nvidia-cuda-nvrtc-cu12 has no libnvrtc.so.12"  # else every test would be skipped
  say "QUERN_NVRTC=$nvrtc"
  # What does not use NVRTC has run in the tier. Nor do counts of images depend on it: they are of keys, and what the
  # tests named here compile are forms that the long lists have.
  local same='HostCompile.*:*ShareImages:*FewImages:*TwoImages'
  export QUERN_NVRTC=$nvrtc QUERN_TEST_STRIDE=20 GTEST_FILTER=-$same
  tests_of dev '^compile_[0-9]+$'
}
# The sanitizers of GCC up to 13 take a thread-local block of a loaded library that happens to begin 16 bytes into a
# page for one of glibc before 2.25. They read the words before it as its address and its size, and clear that range:
# "failed to allocate 0x... bytes at address ...". NVRTC has such blocks.
no_tls_guess=intercept_tls_get_addr=0
stage_asan() {
  need "${sanitizer_packages[@]}"
  export ASAN_OPTIONS=detect_leaks=1:$no_tls_guess UBSAN_OPTIONS=print_stacktrace=1
  build asan quern_unit quern_store_tests quern_device_tests quern_hostdriver
  # Not what launches the same kernels as conformance, which has their undefined behaviour and the arrays of their
  # threads; accesses of device and shared memory the host tier's driver checks one by one. Nor counts of images.
  local kernels='GluOnDevice.*:InteractionOnDevice.*:ScatterOnDevice.*:HashTableOnDevice.*:Addresses.*'
  kernels+=':MoeMovementOnDevice.*:MoeMapOnDevice.*:Mxfp8Sums.APlanSays*:Mxfp8Sums.AWorkspace*:Mxfp8Matrices.*:Mxfp8Groups.*'
  kernels+=':EmbeddingBackwardOnDevice.*:EmbeddingWideKeys.*:EmbeddingLengths.*:PointwisePrograms.*:PointwiseReductions.*'
  kernels+=':PointwiseScales.*:HostAccesses.AlignedForms*'
  # Nor searches and scans that are long, and the same code again and again.
  local long='Replay.TheDefaultStrategy*:Search.WhatGoesDownhill*:Report.StaysSmall*:Prewarm.TheKeysAreThoseOfTheLiveDevice'
  long+=':RuntimeRecords.ThePrewarmedKeys*:RopePrecision.*:ActivationValues.*:ConcatOnDevice.TheSplitOfAConcat*'
  export GTEST_FILTER=-$kernels:RopeImages.*:$long
  tests_of asan '^(unit_[0-9]+|store|host_[0-9]+)$'  # not the command's tests: it is not built here
}
stage_tsan() {
  need "${sanitizer_packages[@]}"
  export TSAN_OPTIONS=halt_on_error=1:$no_tls_guess
  build tsan quern_unit
  # Not what goes through every problem of the benchmarks, one after another.
  export GTEST_FILTER=-Prewarm.TheKeysAreThoseOfTheLiveDevice:RuntimeRecords.ThePrewarmedKeys*
  tests_of tsan '^unit_[0-9]+$'
}
# tests_of PRESET TESTS
tests_of() { ctest --test-dir "build/$1" --tests-regex "$2" --no-tests=error --verbose --parallel "$(nproc)"; }
stage_fuzz() {
  need "${sanitizer_packages[@]}"
  build fuzz quern_fuzz
  tools/fuzz.sh build/fuzz $((2 * $(nproc)))
}
stage_tidy() {
  local clang_tidy
  clang_tidy=$(clang_tidy) || fail "could not get the wheel clang-tidy"
  # Each file's own command, in words that clang knows: the preset joins files and precompiles headers.
  cmake --preset dev -B build/tidy "-DQUERN_CUDA_INCLUDE=$QUERN_CUDA_INCLUDE" -DQUERN_PRECOMPILE=OFF \
    -DCMAKE_CXX_COMPILER=clang++ >build/tidy.configure.log || { cat build/tidy.configure.log; return 1; }
  cmake --build build/tidy --target quern_generated
  host_sources -name '*.cpp' -not -path 'tests/*' -not -path 'examples/*' | tools/tidy.py build/tidy "$clang_tidy"
}

# ---- Counting ------------------------------------------------------------------------------------------------------

passed=0 failed=0 skipped=0 summary=()

# shellcheck source=tools/count.sh
source "$root/tools/count.sh"

# run_stage STAGE [NAME]
run_stage() {
  local stage=$1 name=${2:-$1} start=$EPOCHREALTIME log=build/test-$1.log status p f s
  say
  say "== $name"
  set +e  # not `|| status=…`: that would switch -e off inside the stage too
  (set -e; "stage_$stage") 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  set -e
  p=$(count_of "$log" PASSED) f=$(count_of "$log" FAILED) s=$(count_of "$log" SKIPPED)
  if [ "$status" = 0 ]; then
    [ "$p$s" != 00 ] || p=1
  elif [ "$f" = 0 ]; then
    f=1
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  summary+=("$(printf '%-10s %8s s  %5d passed %3d failed %3d skipped' "$name" "$(seconds_since "$start")" "$p" "$f" "$s")")
  say "== ${summary[-1]}"
}

start=$EPOCHREALTIME
step "set-up" setup
need "${test_packages[@]}"
case " ${chosen[*]} " in
  *" unit "* | *" store "* | *" compile "* | *" host "* | *" docs "* | *" gpu "* | *" compile12 "* | *" consumer "*)
    step "build (preset dev)" build dev || { say "0 passed, 1 failed"; exit 1; } ;;
esac
ran=
for stage in "${chosen[@]}"; do
  if [[ " ${tiers[*]} " != *" $stage "* ]]; then
    run_stage "$stage"
  elif [ -z "$ran" ]; then
    run_stage tiers "$(chosen_tiers ' ')"
    ran=1
  fi
done

say
printf '%s\n' "${summary[@]}"
say "total $(seconds_since "$start") s; $skipped skipped"
say "$passed passed, $failed failed"
[ $failed = 0 ]
