#!/usr/bin/env bash
# Updates the counts of docs/measured.md: how many cases each family's table has, and how many the host tier runs.
# Runs the conformance tests on the host driver, or reads the log of such a run: tools/counts.sh [LOG]
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "$0")/setup.sh"
cd "$root"
mkdir -p build
log=${1:-build/counts.log}
if [ $# = 0 ]; then
  step "set-up" setup
  step "build (preset dev)" build dev quern_device_tests quern_hostdriver
  QUERN_TEST_DEVICE=host build/dev/quern_device_tests --gtest_filter='Conformance.*' | tee "$log"
fi

# A row for each test: cases in its table, cases run, images compiled for them, seconds.
rows() {
  awk '
    /^\[ RUN/ { sub(/.*\./, ""); test = $0; table = 0; taken = 0; images = 0 }
    / cases hold / { taken = $1; table = $3 }
    /images made/ { if (!taken) { taken = $1; table = $1 } images = $3 }
    /^\[       OK/ && images { split($0, part, /[()]/); printf "| %s | %d | %d | %d | %.0f |\n", test, table, taken, images, part[2] / 1000 }
  ' "$log"
}
[ -n "$(rows)" ] || fail "$log holds no conformance test"
{
  sed '/^<!-- counts/q' docs/measured.md
  printf '\n| cases | in the table | in the host tier | images | s |\n|---|---:|---:|---:|---:|\n'
  rows
  printf '\n'
  sed -n '/^<!-- end of counts/,$p' docs/measured.md
} >build/measured.md
cp build/measured.md docs/measured.md
say "docs/measured.md has the counts of $log"
