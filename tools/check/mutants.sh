#!/usr/bin/env bash
# Checks that each change of tools/mutants/*.txt, for tools/mutate.sh, still applies.
set -euo pipefail
"$(dirname "$0")/../mutants/mutants.py" check
