# shellcheck shell=bash disable=SC2154
# Completion in bash, and the man page. Sourced by ../cli_test.sh.

"$quern" completion bash >quern.bash
check 'the completion script is bash' bash -n quern.bash
# completes WANTED WORD…: completes the last word; WANTED is among the candidates. Words are split at "=", as in bash.
cat >ask.bash <<'SH'
. ./quern.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_quern
printf '%s\n' "${COMPREPLY[@]}"
SH
completes() {
  local wanted=$1
  shift
  bash --norc ask.bash "$@" >out 2>err
  if grep -qxF -- "$wanted" out && [ ! -s err ]; then pass "completes $* to $wanted"; else fail "completes $* to $wanted"; fi
}
offers_nothing() {
  bash --norc ask.bash "$@" >out 2>err
  if [ -z "$(cat out err)" ]; then pass "offers nothing for $*"; else fail "offers nothing for $*"; fi
}
completes prewarm quern pre
completes --manifest quern prewarm --man
completes --cache-dir quern prewarm --cache
completes check quern tune ch
completes --records quern tune check --rec
completes gather quern run ga
completes width= quern run gather wi
completes activation= quern run pointwise dtype = bf16 act
completes gelu_tanh quern run pointwise activation = gelu_
completes bf16 quern run gather dtype = ''
completes bf16 quern run gather dtype =
completes sm_100a quern prewarm gather --arch sm_10
completes sm_90a,sm_100a quern prewarm gather --arch sm_90a,sm_10
completes 'NVIDIA\ H200' quern prewarm gather --device-model NV
completes warm quern tune --regime w
completes ils quern tune --strategy = i
completes ptx quern cache show --emit p
completes source= quern run gather --in so
completes out= quern run gather --out o
completes threads= quern run gather --config th
completes multiplier= quern run pointwise --set mu
completes u2.npy quern run gather --in source = u2
completes sweep.jsonl quern tune report swee
completes cache quern help ca
completes list quern help cache li
offers_nothing quern run gather --seed ''
offers_nothing quern run gather width = ''
bash --norc ask.bash quern tune check --b >out
check 'options of other actions are not offered' test -z "$(cat out)"
# Each command and option of the help is known to the script.
not_completed() {
  while read -r command; do
    "$quern" help "$command" | sed -n '/^Options:/,/^$/s/^  \(--[a-z-]\+\).*/\1/p' | while read -r option; do
      bash --norc ask.bash quern "$command" "$option" | grep -qxF -- "$option" || echo "$command $option"
    done
  done <commands
}
check 'every option of every command is completed' test -z "$(not_completed)"
# A real bash on a terminal: the command gets the option that a tab completed.
if command -v script >/dev/null; then
  # shellcheck disable=SC2016
  {
    printf '. ./quern.bash; quern() { printf "called%%s\\n" " with $*"; }; PS1=\n'
    printf 'quern prewarm --manif\tx.jsonl\n'
    printf 'exit\n'
  } | timeout 20 script -qec 'bash --norc -i' /dev/null >out 2>err
  check 'a tabulator completes an option' grep -q 'called with prewarm --manifest x.jsonl' <<<"$(cat out)"
else
  skip 'completion at a terminal' 'no script'
fi

# ---- the man page
"$quern" help --man >quern.1
if command -v groff >/dev/null; then
  check 'groff has no warnings about the man page' test -z "$(groff -man -Tutf8 -ww -z quern.1 2>&1)"
else
  skip 'the man page as groff reads it' 'no groff'
fi
check 'the man page begins as one' grep -q '^\.TH QUERN 1 ' quern.1
for title in NAME SYNOPSIS DESCRIPTION COMMANDS OPTIONS '"EXIT STATUS"' ENVIRONMENT; do
  check "the man page has $title" grep -qx "\.SH $title" quern.1
done
not_in_the_page() {
  "$quern" help "$@" | sed -n '/^Options:/,/^$/s/^  \(--[a-z-]\+\).*/\1/p' | sed 's/-/\\-/g' | while read -r option; do
    grep -qF -- "fB$option\\fR" quern.1 || echo "$option"
  done
}
while read -r command; do
  check "the man page has $command" grep -qx "\.SS \"quern $command\"" quern.1
  check "the man page has the options of $command" test -z "$(not_in_the_page "$command")"
done <commands
check 'the man page has the options of an action' test -z "$(not_in_the_page tune check)"
expect 2 'do not give a COMMAND' help run --man
expect 2 'quern completion takes bash, not "zsh"' completion zsh
