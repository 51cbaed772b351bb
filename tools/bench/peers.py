#!/usr/bin/env python3
"""What a PyTorch user would run instead of `gather`, `pointwise` and `mxfp8`, timed as `quern bench` times its own kernels:
CUDA-graph replays with cold L2 (rotating operands of 256 MB or more; small calls between L2 flushes, minus the flush time),
medians. One JSON line a row: problem, peer, us. Needs torch and triton.

usage: peers.py [FILE] [--only SUBSTRING]
  FILE       problems, as `quern bench --json` prints them; default: the tables of PROBLEMS. A problem that no peer can take
             gives a row that says so
  SUBSTRING  of the problem text

Each family's peers are in a file peers_FAMILY.py."""
import argparse
import json

import torch

import peers_gather
import peers_mxfp8
import peers_pointwise
from peers_timing import cold_us

# Each takes the fields of a problem's text and returns peers, sets of operands, and the bytes of a call.
FAMILIES = {"gather": peers_gather.gather, "pointwise": peers_pointwise.pointwise, "mxfp8": peers_mxfp8.mxfp8}


def report(problem, peer, call, operands, nbytes):
    row = {"problem": problem, "peer": peer}
    try:
        row["us"] = round(cold_us([lambda o=o: call(*o) for o in operands], nbytes), 3)
    except Exception as error:  # a peer that does not support a shape gives a row, and the run continues
        row["error"] = f"{type(error).__name__}: {error}"[:200]
    print(json.dumps(row), flush=True)


def measure(problem):
    family, *settings = problem.split()
    try:
        peers, operands, nbytes = FAMILIES[family](**dict(setting.split("=", 1) for setting in settings))
    except (KeyError, TypeError, ValueError) as error:
        print(json.dumps({"problem": problem, "peer": None, "error": f"no peer for {error}"}), flush=True)
        return
    for peer, call in peers.items():
        report(problem, peer, call, operands, nbytes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    problems = peers_gather.PROBLEMS + peers_pointwise.PROBLEMS + peers_mxfp8.PROBLEMS
    if arguments.file:
        with open(arguments.file, encoding="utf-8") as lines:
            problems = [row["problem"] for row in map(json.loads, lines) if row.get("problem")]
    problems = [problem for problem in problems if arguments.only in problem]
    if any(problem.startswith("mxfp8 ") for problem in problems):
        peers_mxfp8.check_mxfp8()
    for problem in problems:
        measure(problem)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
