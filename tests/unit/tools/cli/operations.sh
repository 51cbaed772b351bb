# shellcheck shell=bash disable=SC2154
# The commands of docs/operations.md, in their order, in a folder of their own. Sourced by ../cli_test.sh.

page=$(dirname "$json_page")/operations.md

# The lines of the page's sh blocks.
commands_of_page() { awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page"; }
# The block that follows <!-- file: NAME -->.
file_of_page() { awk -v head="<!-- file: $1 -->" '$0 == head { found = 1 } /^```/ && found { if (inside) exit; inside = 1; next } inside' "$page"; }
# Runs as the page has it, with `quern` for the command. Its exit code must be the one that its comment names, or 0.
run_line() {
  local code
  code=$(grep -oP '# exit code \K\d+' <<<"$1" || echo 0)
  (quern() { "$quern" "$@"; } && eval "$1") >out 2>err
  [ $? = "$code" ]
}

if "$quern" doctor --json 2>err | grep -q '"nvrtc":{"path"'; then
  mkdir operations && cd operations || exit 1
  operations_cache=$QUERN_CACHE_DIR
  export QUERN_CACHE_DIR=$work/operations/cache
  file_of_page problems.jsonl >problems.jsonl
  check 'docs/operations.md has a manifest' test -s problems.jsonl
  commands=0
  while IFS= read -r line <&3; do
    check "docs/operations.md: $line" run_line "$line"
    commands=$((commands + 1))
  done 3< <(commands_of_page)
  check 'docs/operations.md has commands' test $commands -gt 10

  # What the page says of volumes that a group may write.
  mkdir volume && cp app.pack volume/ && chmod 644 volume/app.pack && chmod 2775 volume
  export QUERN_CACHE_DIR=$work/operations/empty QUERN_CACHE_LAYERS=$work/operations/volume/app.pack
  expect 3 'mode 0775 lets others write there; chmod go-w' prewarm --manifest problems.jsonl --check
  for trust in mode-only "uids=$(id -u)"; do
    QUERN_CACHE_TRUST=$trust expect 3 'mode 0775 lets others write there' prewarm --manifest problems.jsonl --check
  done
  chmod +t volume
  expect 0 there prewarm --manifest problems.jsonl --check
  chmod 664 volume/app.pack
  expect 3 'mode 0664 lets others write there' prewarm --manifest problems.jsonl --check
  unset QUERN_CACHE_LAYERS
  chmod -t volume
  QUERN_CACHE_DIR=$work/operations/volume expect 3 'images are kept in memory only' prewarm --manifest problems.jsonl --check
  QUERN_CACHE_DIR=$work/operations/volume/own expect 0 imported cache import app.pack
  QUERN_CACHE_DIR=$work/operations/volume/own expect 0 there prewarm --manifest problems.jsonl --check
  export QUERN_CACHE_DIR=$operations_cache
  cd "$work" || exit 1
fi
