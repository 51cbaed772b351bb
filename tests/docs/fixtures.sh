# What commands of the pages take for granted: a manifest, a pack, a sweep, records, a saved space.
set -eu
QUERN_MANIFEST=$PWD/host.jsonl quern run gather rows=8 count=8 width=64 --device host >run.txt
sed 's/"host"/"sm_90a"/' host.jsonl >problems.jsonl
quern prewarm --manifest problems.jsonl --pack app.pack >prewarm.txt
quern tune gather rows=4 count=4 width=16 --device host --strategy exhaustive --budget 3 --json >tune.json
cp data/quern/sweeps/gather-*.jsonl sweep.jsonl
cp sweep.jsonl before.jsonl
cp sweep.jsonl after.jsonl
cp tests/spaces/made_up.jsonl.gz space.jsonl.gz
for width in 8 16; do
  quern_record_maker problem="gather rows=4 count=4 width=$width" device='quern host device (sm_90)' target=host regime=cold us=1 default_us=2 \
    config=form=0,vector=16,unroll=1,threads=64,load_once=0,store_stream=0,persistent=0,blocks_per_sm=0 >$width.jsonl
done
cp 8.jsonl a.jsonl
cp 16.jsonl b.jsonl
cp 16.jsonl data/quern/records.jsonl
