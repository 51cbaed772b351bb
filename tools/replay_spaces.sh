#!/usr/bin/env bash
# Runs every strategy on every saved tuning space of a directory. Prints Markdown: the tables of docs/search.md.
# Usage: tools/replay_spaces.sh DIR [SEEDS]; QUERN names the command, default build/release/bin/quern or build/dev/bin/quern.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
directory=${1:?usage: tools/replay_spaces.sh DIR [SEEDS]}
seeds=${2:-200}
quern=${QUERN:-}
for build in release dev; do
  [ -z "$quern" ] && [ -x "$root/build/$build/bin/quern" ] && quern=$root/build/$build/bin/quern
done
[ -n "$quern" ] || { echo "replay_spaces.sh: build the target quern_cli first, or set QUERN" >&2; exit 1; }

shopt -s nullglob
files=("$directory"/*.json "$directory"/*.json.gz "$directory"/*.jsonl "$directory"/*.jsonl.gz)
[ ${#files[@]} -gt 0 ] || { echo "replay_spaces.sh: $directory has no .json or .jsonl file, plain or .gz" >&2; exit 2; }
replays=()
for file in "${files[@]}"; do replays+=(--replay "$file"); done

echo "Made $(date -u +%F) at commit $(git -C "$root" rev-parse --short HEAD) by \`tools/replay_spaces.sh $(basename "$directory") $seeds\`."
echo

# Exhaustive search too: the cost of canonical order shows how hard a space is.
strategies=(ils random exhaustive)
for strategy in "${strategies[@]}"; do
  printf '## %s\n\n' "$strategy"
  "$quern" tune "${replays[@]}" --strategy "$strategy" --seeds "$seeds"
  echo
done
