#!/usr/bin/env bash
# Checks that tools/test.sh counts what passed, failed and was skipped, the last also if a script skips a part.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tools/count.sh
source tools/count.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cat >"$log" <<'TEXT'
[  PASSED  ] 1057 tests.
5: [  PASSED  ] 1 test.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Layers.OfAnotherOwner
3: skipped: images, manifests and the store: no NVRTC
skipped: progress at a terminal: no script
3: ok 0 quern list
ok figures
3: FAIL quern doctor: exit code 1, not 0
not ok bench, rotating
 1 FAILED TEST
[  FAILED  ] 1 test, listed below:
TEXT
bad=0
for row in PASSED:1060 FAILED:3 SKIPPED:4; do
  got=$(count_of "$log" "${row%:*}")
  [ "$got" = "${row#*:}" ] || { echo "tools/count.sh: ${row%:*} is counted as $got, not ${row#*:}"; bad=1; }
done
exit $bad
