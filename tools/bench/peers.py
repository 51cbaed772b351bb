#!/usr/bin/env python3
"""What a PyTorch user would run instead of `gather`, `pointwise`, `mxfp8`, `scatter`, `concat`, `index_sort`, `chunk_sort`,
`hash_table`, `moe_map`, `moe_permute`, `moe_unpermute`, `rope`, `glu`, `embedding` and `interaction`, timed as `quern
bench` times its own kernels: CUDA-graph replays with cold L2 (rotating operands of 256 MB or more; small calls between L2
flushes, minus the flush time), medians. One JSON line a row: problem, peer, us. Before that the peers of a family are
compared with each other. Needs torch and triton.

usage: peers.py [FILE] [--only SUBSTRING]
  FILE       problems, as `quern bench --json` prints them; default: the tables of gather, pointwise and mxfp8. A problem
             that no peer can take gives a row that says so
  SUBSTRING  of the problem text

The peers of a family are in a file peers_TOPIC.py."""
import argparse
import json
import shlex

import torch

import peers_concat
import peers_embedding
import peers_gather
import peers_glu
import peers_hash
import peers_interaction
import peers_moe
import peers_moe_map
import peers_mxfp8
import peers_pointwise
import peers_rope
import peers_scatter
import peers_sort
from peers_timing import cold_us, sets_for

# Each takes the fields of a problem's text and returns peers, sets of operands, and the bytes of a call.
FAMILIES = {
    "gather": peers_gather.gather, "pointwise": peers_pointwise.pointwise, "mxfp8": peers_mxfp8.mxfp8,
    "scatter": peers_scatter.scatter, "concat": peers_concat.concat, "index_sort": peers_sort.index_sort,
    "chunk_sort": peers_sort.chunk_sort, "moe_map": peers_moe_map.moe_map, "moe_permute": peers_moe.moe_permute,
    "moe_unpermute": peers_moe.moe_unpermute, "rope": peers_rope.rope, "glu": peers_glu.glu,
    "embedding": peers_embedding.embedding, "hash_table": peers_hash.hash_table,
    "interaction": peers_interaction.interaction
}
PROBLEMS = peers_gather.PROBLEMS + peers_pointwise.PROBLEMS + peers_mxfp8.PROBLEMS
TOPICS = (peers_scatter, peers_concat, peers_sort, peers_moe_map, peers_moe, peers_rope, peers_glu, peers_embedding,
          peers_hash, peers_interaction)
CHECKS = [case for topic in TOPICS for case in topic.CHECKS]


def report(problem, peer, call, operands, nbytes):
    row = {"problem": problem, "peer": peer}
    try:
        row["us"] = round(cold_us([lambda o=o: call(*o) for o in operands], nbytes), 3)
    except Exception as error:  # a peer that does not support a shape gives a row, and the run continues
        row["error"] = f"{type(error).__name__}: {error}"[:200]
    print(json.dumps(row), flush=True)


ROUTED = ("moe_map", "moe_permute", "moe_unpermute")  # whose time depends on the data


def made(problem, data_seed=1):
    family, *settings = shlex.split(problem)
    data = {"data_seed": data_seed} if family in ROUTED else {}
    return FAMILIES[family](**dict(setting.split("=", 1) for setting in settings), **data)


def copied(operand):
    """Peers that write to an operand must not change what the next one reads."""
    if isinstance(operand, list):
        return [copied(entry) for entry in operand]
    return operand if operand is None or isinstance(operand, (int, float)) else operand.clone()


def tensors(result):
    """Of a peer's result, in their order; None is a place in it."""
    return [result] if result is None or isinstance(result, torch.Tensor) else [t for part in result for t in tensors(part)]


def agree(a, b, tolerance):
    """As far as `a` reaches: others may have rows after it that nobody writes."""
    if a is None or b is None:
        return a is b
    b = b[:a.shape[0]]
    if tolerance == 0:
        return torch.equal(a.to(b.dtype), b)
    return torch.allclose(a.float(), b.float(), rtol=tolerance, atol=tolerance)


def check(problem, tolerance):
    """All peers of a small problem must give the same as the first. One that fails gives a row, here and when it is timed."""
    peers, operands, _ = made(problem)
    expected = None
    for peer, call in peers.items():
        try:
            result = tensors(call(*map(copied, operands[0])))
        except Exception as error:
            print(json.dumps({"problem": problem, "peer": peer, "error": f"{type(error).__name__}: {error}"[:200]}), flush=True)
            continue
        expected = expected or result
        if not all(agree(a, b, tolerance) for a, b in zip(expected, result, strict=True)):
            raise SystemExit(f"peers.py: the peer {peer} of {problem} gives another result than the first")


MOST_COPIED = 64_000_000  # draws.py compares copies of calls below 10 us


def driver_copy_us(nbytes):
    """Of as many bytes, half of them read: what `quern bench` measures as copy_us where copy_by is the driver."""
    half = max(1, nbytes // 2)
    pairs = [[torch.ones(half, dtype=torch.uint8, device="cuda") for _ in "ab"] for _ in range(sets_for(2 * half))]
    return cold_us([lambda a=a, b=b: b.copy_(a) for a, b in pairs], 2 * half)


def measure(problem, data_seed):
    try:
        peers, operands, nbytes = made(problem, data_seed)
    except (KeyError, TypeError, ValueError, torch.OutOfMemoryError) as error:
        print(json.dumps({"problem": problem, "peer": None, "error": f"no peer for {error}"[:200]}), flush=True)
        return
    for peer, call in peers.items():
        report(problem, peer, call, operands, nbytes)
    del operands
    if nbytes <= MOST_COPIED:
        print(json.dumps({"problem": problem, "copy_us": round(driver_copy_us(nbytes), 3)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    problems = [(problem, 1) for problem in PROBLEMS]
    if arguments.file:
        with open(arguments.file, encoding="utf-8") as lines:
            problems = [(row["problem"], row.get("data_seed", 1)) for row in map(json.loads, lines) if row.get("problem")]
    problems = [(problem, data_seed) for problem, data_seed in problems if arguments.only in problem]
    families = {problem.split()[0] for problem, _ in problems}
    if "mxfp8" in families:
        peers_mxfp8.check_mxfp8()
    for problem, tolerance in CHECKS:
        if problem.split()[0] in families:
            check(problem, tolerance)
    for problem, data_seed in problems:
        measure(problem, data_seed)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
