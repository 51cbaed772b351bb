# shellcheck shell=bash disable=SC2154
# Checks docs/operations.md on packs, and on group-writable volumes. Sourced by ../cli_test.sh.

if "$quern" doctor --json 2>err | grep -q '"nvrtc":{"path"'; then
  mkdir operations && cd operations || exit 1
  operations_cache=$QUERN_CACHE_DIR
  export QUERN_CACHE_DIR=$work/operations/cache
  printf '{"problem": "gather width=%s", "arch": "sm_90a"}\n' 8 16 >problems.jsonl
  expect 3 'would be compiled' prewarm --manifest problems.jsonl --check
  expect 0 compiled prewarm --manifest problems.jsonl --pack app.pack
  expect 0 there prewarm --manifest problems.jsonl --check
  expect 3 missing prewarm --manifest problems.jsonl --arch sm_90a,sm_100a --check

  # On another machine: no images but the pack's, and no NVRTC.
  export QUERN_CACHE_DIR=$work/operations/empty QUERN_CACHE_LAYERS=$work/operations/app.pack
  QUERN_NVRTC=/nonexistent expect 0 there prewarm --manifest problems.jsonl --check
  QUERN_CACHE=read-only expect 0 there prewarm --manifest problems.jsonl --check
  QUERN_CACHE=off expect 3 missing prewarm --manifest problems.jsonl --check
  QUERN_CACHE_DIR=/proc/none expect 0 'images are kept in memory only' prewarm --manifest problems.jsonl --check

  # As a volume with fsGroup is: no setting accepts what a group may write, its sticky bit or a directory of one's own helps.
  mkdir volume && cp app.pack volume/ && chmod 644 volume/app.pack && chmod 2775 volume
  export QUERN_CACHE_LAYERS=$work/operations/volume/app.pack
  for trust in owner mode-only "uids=$(id -u)"; do
    QUERN_CACHE_TRUST=$trust expect 3 'mode 0775 lets others write there; chmod go-w' prewarm --manifest problems.jsonl --check
  done
  chmod +t volume
  expect 0 there prewarm --manifest problems.jsonl --check
  chmod 664 volume/app.pack
  expect 3 'mode 0664 lets others write there' prewarm --manifest problems.jsonl --check
  unset QUERN_CACHE_LAYERS
  chmod -t volume
  QUERN_CACHE_DIR=$work/operations/volume expect 3 'mode 0775 lets others write there' prewarm --manifest problems.jsonl --check
  export QUERN_CACHE_DIR=$work/operations/volume/own
  expect 0 imported cache import app.pack
  expect 0 there prewarm --manifest problems.jsonl --check

  export QUERN_CACHE_DIR=$operations_cache
  cd "$work" || exit 1
else
  skip 'packs and volumes of docs/operations.md' 'no NVRTC'
fi
