#!/usr/bin/env bash
# Runs every conformance case of every family on the host driver, not only the subset of the host tier. Takes
# some minutes.
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "$0")/setup.sh"
cd "$root"
mkdir -p build

step "set-up" setup
step "build (preset dev)" build dev quern_device_tests quern_hostdriver
step "all cases on the host" env QUERN_TEST_DEVICE=host QUERN_TEST_FULL=1 build/dev/quern_device_tests --gtest_brief=1 \
  --gtest_filter='Conformance.*'
