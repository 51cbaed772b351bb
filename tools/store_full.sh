#!/usr/bin/env bash
# Runs the store's tests in full size: a line of measurements for each test, then what passed. With the path of a
# quern_store_tests it needs nothing else of the tree, so it can run on another machine; TMPDIR chooses the disk.
# About half an hour.
set -euo pipefail

program=${1:-}
if [ -z "$program" ]; then
  # shellcheck source=tools/setup.sh
  source "$(dirname "$0")/setup.sh"
  cd "$root"
  mkdir -p build
  step "set-up" setup
  step "build (preset dev)" build dev quern_store_tests
  program=build/dev/quern_store_tests
fi

printf 'on %s, %s processors, files on %s (%s)\n' "$(uname -sr)" "$(nproc)" "${TMPDIR:-/tmp}" \
  "$(stat --file-system --format=%T "${TMPDIR:-/tmp}")"
QUERN_TEST_FULL=1 "$program" --gtest_brief=1 2>&1 | sed --unbuffered 's/^figures: //'
