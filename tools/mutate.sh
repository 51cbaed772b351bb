#!/usr/bin/env bash
# Mutation tests: applies the changes of tools/mutants/*.txt one at a time in a copy of the tree, builds the named tests
# and runs only these: each must fail. Run by hand before a release; CI only checks that every change still applies
# (tools/check/mutants.sh). A mutant of templates/ changes both kernel and host code.
set -euo pipefail
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  echo "usage: tools/mutate.sh [WORD…]    the mutants whose names contain a WORD; default all. Exits 1 if one survived."
  exit 0
fi
# shellcheck source=tools/setup.sh
source "$(dirname "$0")/setup.sh"
cd "$root"
setup >/dev/null
mutants=tools/mutants/mutants.py
tree=$root/build/mutate/tree
out=$root/build/mutate/out
build_dir=$tree/build/dev
mkdir -p "$tree" "$out"

# Copies the tree; unchanged files keep their time stamps, so that little is rebuilt.
refresh() {
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [ -e "$file" ] || continue
    cmp -s "$file" "$tree/$file" || { mkdir -p "$tree/$(dirname "$file")"; cp "$file" "$tree/$file"; }
  done
}
configure() { (mkdir -p "$tree/build" && root=$tree && cd "$tree" && build dev help >/dev/null); }

targets_of() {
  case $1 in
    unit) echo quern_unit ;;
    store) echo quern_store_tests ;;
    host) echo quern_device_tests quern_hostdriver ;;
    cli) echo quern_cli quern_record_maker quern_json_page quern_hostdriver ;;
    tune) echo quern_cli quern_record_maker quern_hostdriver ;;
    bench) echo quern_cli quern_hostdriver ;;
  esac
}
# run_test KIND [FILTER [VARIABLE=VALUE]]: in the copy.
run_test() {
  if [ -n "${3:-}" ]; then local -x "${3?}"; fi
  local scripts=$tree/tests program=$build_dir/bin/quern
  case $1 in
    unit) timeout 300 "$build_dir/quern_unit" --gtest_brief=1 --gtest_filter="$2" ;;
    store) timeout 300 "$build_dir/quern_store_tests" --gtest_brief=1 --gtest_filter="$2" ;;
    host) QUERN_TEST_DEVICE=host timeout 300 "$build_dir/quern_device_tests" --gtest_brief=1 --gtest_filter="$2" ;;
    cli) timeout 300 "$scripts/unit/tools/cli_test.sh" "$program" "$build_dir/quern_record_maker" "$build_dir/quern_json_page" ;;
    tune) timeout 600 "$scripts/host/tune_test.sh" "$program" "$build_dir/quern_record_maker" ;;
    bench) timeout 300 "$scripts/host/bench_test.sh" "$program" ;;
  esac
}

refresh
configure
noticed=0 lived=()
for name in $("$mutants" names "$@"); do
  mapfile -t tests < <("$mutants" tests "$name")
  targets=$(for test in "${tests[@]}"; do targets_of "${test%% *}"; done | sort -u)
  mapfile -t changed < <("$mutants" apply "$name" "$tree" "$out/whole")
  # shellcheck disable=SC2086
  if ! cmake --build "$build_dir" --parallel "$(nproc)" --target $targets >"$out/$name.build" 2>&1; then
    verdict="does not build: build/mutate/out/$name.build"
  else
    verdict=noticed
    for test in "${tests[@]}"; do
      read -r kind filter variable <<<"$test"
      if run_test "$kind" "$filter" "$variable" >"$out/$name.$kind" 2>&1; then verdict="lived through $test"; fi
    done
  fi
  for file in "${changed[@]}"; do cp "$out/whole/$file" "$tree/$file"; done
  echo "$name: $verdict"
  if [ "$verdict" = noticed ]; then noticed=$((noticed + 1)); else lived+=("$name"); fi
done
total=$((noticed + ${#lived[@]}))
echo "$noticed of $total noticed"
[ ${#lived[@]} = 0 ] || { printf 'not noticed: %s\n' "${lived[*]}"; exit 1; }
