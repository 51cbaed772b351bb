# shellcheck shell=bash disable=SC2154
# Help, failed writes, and wrong arguments. Sourced by ../cli_test.sh.

# ---- commands without requirements
expect 0 quern --version
expect 0 Examples --help
expect 0 Examples help
# Help of each command and action, the same by three ways.
same_help() {
  "$quern" "$@" --help >direct && "$quern" help "$@" >by_help && "$quern" "$@" -h >short && cmp direct by_help && cmp direct short &&
    grep -q "^Usage: quern $*" direct
}
"$quern" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p' >commands
check 'help lists the commands' grep -qx prewarm commands
: >examples
while read -r command; do
  check "help of $command" same_help "$command"
  check "help of $command says no default twice" sh -c '! tr -s " \n" " " <direct | grep -q "default \([^ ]*\); default \1"'
  sed -n '/^Examples:/,/^$/s/^  \(quern .*\)/\1/p' direct >>examples
  sed -n '/^Actions:/,/^$/s/^  \([a-z]\+\) .*/\1/p' direct >actions
  while read -r action; do
    check "help of $command $action" same_help "$command" "$action"
    sed -n '/^Examples:/,/^$/s/^  \(quern .*\)/\1/p' direct >>examples
  done <actions
done <commands
check 'each action has an example' test "$(wc -l <examples)" -ge 35
"$quern" tune check --help >direct
check 'help of an action is about this action' sh -c 'grep -q -e --records direct && ! grep -q -e --budget direct'
# The words and options of an example are all known: the first error is about something read later.
while read -r line; do
  line=${line%% >*}
  bash -c "$quern ${line#quern } --log loud" >out 2>err
  check "an example of the help: $line" test "$(cut -d';' -f1 err)" = 'quern: --log loud is invalid'
done <examples
expect 2 Usage
expect 0 gather list
expect 0 '"family":"gather"' list --json
expect 0 operand describe gather
expect 0 '"constraints"' describe pointwise --json
expect 0 'b: row; out = relu(x + b)' expression 'b:row;out=relu((x+b))'
expect 0 '| b     | row  | none  |' expression 'b: row; out = x + b'
expect 0 '"inputs":[{"input":"d_out","kind":"full","dtype":"none"}]' expression 'b: row; out = x + b' --gradient b,x --json
expect 0 '| m     | number | f32   |' expression 'm: number; out = x * m' --gradient 'x, m'
expect 2 'the program does not parse: 1:10: ' expression 'out = x +'
expect 2 'the program has no input z; its inputs are x, b' expression 'out = x + b' --gradient x,z
expect 2 'PROGRAM' expression
expect 0 sm_100a describe gather width=64 --arch sm_100a
# A missing driver is reported as wrong.
expect 1 'Wrong: ' doctor
expect 1 QUERN_CACHE_DIR doctor
expect 1 '"environment"' doctor --json

# ---- a failed write to stdout
# cannot_write ARGUMENT…: with stdout on a full disk, and with stdout closed.
cannot_write() {
  "$quern" "$@" >/dev/full 2>err
  [ $? = 1 ] && [ "$(cat err)" = 'quern: cannot write to stdout: No space left on device' ] || return 1
  "$quern" "$@" >&- 2>err
  [ $? = 1 ] && [ "$(cat err)" = 'quern: cannot write to stdout: Bad file descriptor' ]
}
for words in --help --version list 'list --json' 'describe gather' 'tune show' 'run --help'; do
  # shellcheck disable=SC2086
  check "a failed write is reported once, with exit code 1: $words" cannot_write $words
done
# More than stdio's buffer: the first write that fails is not the last one.
check 'a failed write of a long output is reported once' cannot_write tune show --json
says_nothing() { "$quern" nothing >/dev/full 2>err; [ $? = 2 ]; }
check 'an empty stdout is not a failure' says_nothing

# ---- terminals
# at_terminal COLUMNS ARGUMENT…: output on a terminal of that many columns, in `screen`.
at_terminal() {
  local columns=$1
  shift
  timeout 20 script -qec "stty cols $columns; '$quern' $*" /dev/null </dev/null | tr -d '\r' >screen
}
# The lines that match are there, and none is longer. awk counts bytes: no table here has any other character.
fits() { grep -q -e "$2" screen && ! awk -v most="$1" 'length($0) > most' screen | grep -e "$2"; }
if command -v script >/dev/null; then
  for words in 'describe gather' 'describe mxfp8' doctor list; do
    at_terminal 80 "$words"
    check "a table fits 80 columns: $words" fits 80 '^|'
  done
  for words in 'tune show gather' 'help prewarm' 'help tune check'; do
    at_terminal 80 "$words"
    check "every line fits 80 columns: $words" fits 80 .
  done
  at_terminal 80 tune show gather
  check 'a row of many columns is a block' grep -q '^device  *NVIDIA H200$' screen
else
  skip 'tables at a terminal' 'no script'
fi
"$quern" describe gather >out
check 'a pipe gets Markdown, however wide' grep -q '^| field         | kind    | default      | accepted  .* meaning  *|$' <<<"$(cat out)"

# ---- errors as JSON
expect 2 '{"schema":"quern.error/1","code":"bad_input","exit_code":2,"sentence":"width=abc is not accepted' run gather width=abc --json
check 'the sentence is on stderr too' grep -q '^quern: width=abc' <<<"$(cat err)"
expect 2 '"problem":"gather width=64 out_stride=8"' run gather width=64 out_stride=8 --json
expect 2 '"schema":"quern.error/1"' frobnicate --json

# ---- mistyped variables
QUERN_CACH_DIR=x expect 1 'Wrong: QUERN_CACH_DIR is set, and nothing reads it. Did you mean QUERN_CACHE_DIR?' doctor
QUERN_CACH_DIR=x expect 1 '"QUERN_CACH_DIR is set, and nothing' doctor --json
QUERN_CACH_DIR=x QUERN_RECORD=y expect 0 'quern: QUERN_CACH_DIR is set, and nothing reads it. Did you mean QUERN_CACHE_DIR? QUERN_RECORD is set' list
check 'that is one line' test "$(wc -l <err)" = 1
QUERN_CACH_DIR=x expect 0 Usage help list
check 'help does not report it' test ! -s err
QUERN_HOSTDRIVER=x QUERN_TEST_CACHE=x QUERN_OF_AN_APPLICATION=x expect 0 gather list
check 'a variable of another program is not a typo' test ! -s err

# ---- wrong arguments
expect 2 'Did you mean cache' cach
expect 2 'Did you mean list? There are: stats' help cache lst
expect 2 'there is no "repot". Did you mean report?' tune repot x.jsonl
expect 2 'not "prun". Did you mean prune?' cache prun
expect 2 '"gather" is in front of show' tune gather show
expect 2 '--records belongs to quern tune show' tune --records x.jsonl
expect 2 'unknown command' frobnicate
expect 2 'Did you mean --json' list --jsno
expect 2 'did you mean gather' run gathr
expect 2 'did you mean width' run gather wdth=8
expect 2 'gather has no field "". Its fields are: rows' run gather =8
expect 2 'it takes' run gather dtype=floaty
expect 2 'it takes' run gather index=f32
expect 2 'it takes' run gather mode=maybe
expect 2 'it takes' run gather width=-1
expect 2 'it takes' run gather width=99999999999999999999
expect 2 'width=abc' run gather width=abc
expect 2 'given twice' run gather width=8 width=9
expect 2 'FIELD=VALUE' run gather width
expect 2 'quern run takes FAMILY [FIELD=VALUE...], as in `quern run gather' run
expect 2 'too large' run gather width=4096 rows=70368744177664 count=1
expect 2 'memory' run gather width=4096 rows=17179869184 count=1
expect 2 'memory' run gather width=8 rows=1 count=8796093022208
expect 2 'out_stride' run gather width=64 out_stride=8
expect 2 'no run-time number' run gather --set multiplier=2
expect 2 'is not a number' run pointwise multiplier=two
expect 2 'multiplier is not used by this problem: it is of y; with op=add_mul_act [pointwise]' run pointwise --set multiplier=3
expect 2 'multiplier is not used by this problem' run pointwise multiplier=3
expect 2 'alpha is not used by this problem' run pointwise op=add_mul_act --set multiplier=3 --set alpha=1
expect 2 'the problem calls number_0 so; write number_0 for it' run pointwise width=8 \
  expr='number_1: number; k: number; out = x * number_1 + k' --set number_1=2
expect 2 'alpha is not used by this problem' run mxfp8 alpha=1
expect 2 'cuda:N' run gather --device gpu0
expect 2 'is not supported; expected one of sm_80' run gather --arch sm_42
expect 2 'is not supported; expected one of sm_80' prewarm gather --arch sm_90a,sm_42
expect 2 'expected one of' prewarm gather --device-model H9000
expect 2 'Did you mean threads?' run gather --config thread=1
expect 2 'Did you mean gelu?' run pointwise activation=geul
expect 2 'Did you mean sm_90?' prewarm gather --arch sm_80,sm_91
expect 2 'Did you mean warm?' tune gather rows=4 count=4 width=64 --regime worm
expect 2 'Did you mean cuda:0?' run gather --device cuda0
expect 0 '"problem":"gather dtype=f16"' describe gather dtype=float16 --arch H200 --json
expect 0 'default configs on sm_90a' describe gather --arch 90
expect 5 'driver' describe gather --arch native
expect 2 'tuning space' run gather --config threads=1
expect 2 'not legal' run gather width=63 --config form=0,vector=16
expect 2 'no parameter' prewarm gather --config thread=1
expect 2 '--offset' run gather --offset -1
# One range for --jobs, everywhere.
for words in 'prewarm gather' 'tune gather rows=4 count=4 width=64'; do
  for jobs in 0 -1 1025; do
    # shellcheck disable=SC2086
    expect 2 "--jobs $jobs is out of range; it takes 1 to 1024" $words --jobs $jobs
  done
done
expect 2 '--jobs x is not a number; it takes 1 to 1024' prewarm gather --jobs x
expect 2 '--arch takes a value, --arch ARCH' run gather --arch
expect 2 '--arch takes a value, --arch ARCH' run gather --arch --json
expect 2 '--json does not take a value' run gather --json=1
expect 2 '--seed is given twice' run gather --seed 1 --seed 2
expect 2 'quern list does not take "gather"' list gather
expect 2 'quern cache show does not take "b"' cache show a b
expect 2 'Did you mean --version?' --vresion
expect 2 'Did you mean --version?' -v
expect 2 'it takes debug' list --log loud
expect 2 '--seed x is not a number; it takes a number of at least 0' run gather --seed x
expect 2 'not both' run gather --device cuda:0 --arch sm_90a
expect 2 '--variant' inspect gather --variant 7
expect 2 '--problem does not go with --compile' bench --problem 'gather rows=8 count=8' --compile
expect 2 '--copy-config does not go with --host' bench --host --copy-config unroll=1
expect 2 'quern tune FAMILY FIELD=VALUE... --strategy exhaustive' run gather width=8 --sweep
expect 2 '--samples belongs to --compile' bench gather --samples 3
expect 2 'is open' bench --problem 'gather width=8'
expect 2 '--seed goes with --draw' bench gather --seed 3
expect 2 'give --problem or --draw, not both' bench --problem 'gather rows=8 count=8' --draw 3
expect 2 '--draw does not go with --host' bench --host --draw 3
expect 2 'there is no family "no_family"' bench no_family --draw 3
expect 2 'give a problem, --draw N' tune --draw 3 --bench-table
QUERN_CACHE=perhaps expect 0 'warning: invalid value QUERN_CACHE=perhaps' list
QUERN_CACHE=perhaps expect 1 'Wrong: invalid value QUERN_CACHE=perhaps' doctor
QUERN_TUNE=perhaps expect 0 'expected one of off, lookup' list
expect 1 '"tuning":"lookup","records":[{"file":"'"$work"'/records.jsonl","records":0' doctor --json
QUERN_WORKER=/bin/false expect 1 '"worker":"/bin/false"' doctor --json
QUERN_TUNE=background QUERN_WORKER=$work/none expect 1 'set QUERN_WORKER to the path of the quern command' doctor
QUERN_TUNE=on-prepare QUERN_TUNE_SHARE=2 expect 1 'invalid value QUERN_TUNE_SHARE=2' doctor
echo broken >other.jsonl
QUERN_RECORD_LAYERS=other.jsonl expect 1 'other.jsonl:1: invalid JSON' doctor
QUERN_RECORD_LAYERS=none.jsonl expect 1 'records are not read: none.jsonl' doctor
# Escape sequences in foreign data must not control a terminal: errors, notes and warnings.
expect 2 'gather\x1b[2J' describe "$(printf 'gather\033[2J')"
QUERN_CACHE=$(printf 'a\033[2Jb') expect 0 'invalid value QUERN_CACHE=a\x1b[2Jb' list
check 'no escape sequence reaches the terminal' test "$(grep -c "$(printf '\033')" err)" = 0
