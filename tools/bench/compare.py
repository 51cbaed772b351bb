#!/usr/bin/env python3
"""Joins rows of `quern bench --json` with rows of peers.py into one Markdown table.

usage: compare.py BENCH.jsonl PEERS.jsonl BENCH.jsonl   (the order in which they were measured, one run after the other)"""
import json
import sys


def rows(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def canonical(problem):
    """A problem text without the fields at their default, as quern prints it."""
    defaults = {"dtype=bf16", "width=4096", "activation=relu"}
    return " ".join(word for word in problem.split() if word not in defaults)


def main():
    before, peers, after = (rows(path) for path in sys.argv[1:4])
    second = {row["problem"]: row for row in after}
    by_problem = {}
    for row in peers:
        if "us" in row:
            by_problem.setdefault(canonical(row["problem"]), []).append((row["us"], row["peer"]))
    print("| problem | µs, two runs | GB/s | % of copy | best peer | µs | peer / ours | others |")
    print("|---|---:|---:|---:|---|---:|---:|---|")
    for row in before:
        us = [row["us"], second[row["problem"]]["us"]]
        found = sorted(by_problem.get(canonical(row["problem"]), []))
        best = found[0] if found else (float("nan"), "-")
        others = "; ".join(f"{peer} {time:.2f}" for time, peer in found[1:])
        print(f"| `{row['problem']}` | {us[0]:.2f}, {us[1]:.2f} | {row['gbs']:.0f} | {row['copy_percent']:.1f} |"
              f" {best[1]} | {best[0]:.2f} | {best[0] / (sum(us) / 2):.2f} | {others} |")


if __name__ == "__main__":
    main()
