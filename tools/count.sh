# shellcheck shell=bash
# Sourced by tools/test.sh and tools/check/count.sh.

# Sums the counts of $2, PASSED, FAILED or SKIPPED, in the log $1: GoogleTest's summary lines, and the lines "ok …",
# "not ok …", "FAIL …" and "skipped: …" of our own scripts.
count_of() {
  awk -v what="$2" '
    BEGIN { line["PASSED"] = "ok "; line["FAILED"] = "(not ok|FAIL) "; line["SKIPPED"] = "skipped: " }
    match($0, "\\[  " what " *\\] [0-9]+ tests?[.,]") { split(substr($0, RSTART), part, /\] /); n += part[2] }
    $0 ~ "^([0-9]+: )?" line[what] { ++n }
    END { print n + 0 }' "$1"
}
