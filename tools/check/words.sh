#!/usr/bin/env bash
# Checks what a reader of the tree should never meet: paths of one machine, notes to oneself, names that were replaced,
# files that are too long.
set -euo pipefail
cd "$(dirname "$0")/../.."

skipped=(-path ./.git -o -path './build*' -o -path ./.cache -o -path ./tests/fuzz/corpus)
files() { find . \( "${skipped[@]}" \) -prune -o -type f "$@" -print | sort; }
self=./tools/check/words.sh
bad=0

# complain PATTERN WHY: prints FILE:LINE: for each line that matches.
complain() {
  local hits
  hits=$(files -not -path "$self" | xargs -d '\n' grep -nIE "$1" || true)
  [ -z "$hits" ] && return
  printf '%s\n' "$hits" | sed "s|^\./||; s|$|    <- $2|"
  bad=1
}

complain '(^|[^A-Za-z0-9_./-])(/work|/tmp|/root|/opt/wheels|/home/[a-z]+)/[A-Za-z0-9]' 'a path of one machine'
complain 'https?://(localhost|10\.|192\.168\.|[a-z0-9.-]+\.(internal|corp|local)\b)' 'a host of one machine'
complain '\b(TODO|FIXME|XXX|HACK)\b' 'a note to oneself'
# Names that a term of the field has replaced (docs/design.md, "Words").
complain '\b(LiveLab|TestLab|Lab|laboratory|[Ee]xaminers?|Judge|Crew|Objection|Exam|Finals|Paced?|crew|finals)\b' 'a retired name'
complain '\b(Gang|Strand|Meeting|gangs?|strands?|hand_on|whereabouts|crooked|afresh)\b' 'a retired name'
complain '\b(choose_variants|chosen_variants|choose_config|null_table)\b' 'a retired name'

while read -r file; do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt 500 ]; then
    printf '%s: %d lines; split it at 500\n' "${file#./}" "$lines"
    bad=1
  fi
done < <(files -regex '.*\(\.\(cpp\|h\|cu\|cuh\|sh\|cmake\|py\)\|CMakeLists\.txt\)')
exit $bad
