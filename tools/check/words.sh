#!/usr/bin/env bash
# Finds text that must not be in the tree: paths of one machine, notes to oneself, replaced names, files that are too
# long.
set -euo pipefail
cd "$(dirname "$0")/../.."

skipped=(-path ./.git -o -path './build*' -o -path ./.cache -o -path ./tests/fuzz/corpus)
files() { find . \( "${skipped[@]}" \) -prune -o -type f "$@" -print | sort; }
self=./tools/check/words.sh
bad=0

# complain PATTERN WHY [FIND-TEST...]: prints FILE:LINE: for each line that matches, in the files that the tests select.
complain() {
  local hits
  hits=$(files -not -path "$self" "${@:3}" | xargs -d '\n' grep -nIE -e "$1" || true)
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
complain '\b(RecordFile|record_file|RecordedSpace|SweepRow|SweepClocks|RecordedClocks|TuningLimits|StrandPool|GangRaces)\b' 'a retired name'
complain '\b(Mxfp8Op|(Relayout|Dequantize|Pad|Chunk)Params|ScaleMatrix|NvrtcSearch|GateTest)\b' 'a retired name'
complain '\b(mxfp8/room\.h|gather/chunks\.cuh|runtime/(base|include)/|quern/sweep\.(cpp|h))' 'a retired path'
# What users typed before, which the code still names in errors, and two pages as history.
pages=(-name '*.md' -not -name CHANGELOG.md -not -name family-interface.md)
complain '\bQUERN_RECORD\b' 'QUERN_MANIFEST now' "${pages[@]}"
complain '\bop=(quantize|dequantize|to_blocked|from_blocked|pad|unpad)\b' 'a family of its own now' "${pages[@]}"
complain '--record-space|--sweep\b|--strategy (hill_climb|annealing|genetic)\b' 'a retired option' "${pages[@]}"
complain '\bgather\b.*\bform=2\b|\bform=2\b.*\bgather\b|\b(stages|chunk)=[0-9]' 'the bulk form of gather, which was removed' "${pages[@]}"
complain '\bOptions::(cache_|tuning_|nvrtc|cxx|lineinfo|log_)' 'Options has groups now' "${pages[@]}"

while read -r file; do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt 500 ]; then
    printf '%s: %d lines; split it at 500\n' "${file#./}" "$lines"
    bad=1
  fi
done < <(files -regex '.*\(\.\(cpp\|h\|cu\|cuh\|sh\|cmake\|py\)\|CMakeLists\.txt\)')
exit $bad
