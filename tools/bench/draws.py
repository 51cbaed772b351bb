#!/usr/bin/env python3
"""How the default does on problems drawn at random: quantiles of percent of a copy, of the best peer's time over ours and of
regret, as a Markdown row, and the worst problems, each with its best peer.

usage: draws.py BENCH.jsonl PEERS.jsonl [TUNE.jsonl] [--worst N]
  BENCH   of `quern bench FAMILY --draw N --seed S --json`
  PEERS   of `peers.py BENCH.jsonl`, in the same run
  TUNE    of `quern tune FAMILY --draw N --seed S --json`
  N       problems listed; default 10"""
import argparse
import json
import math


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.startswith("{")]


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def best_peers(peers):
    """The fastest peer of each problem: its time and its name."""
    best = {}
    for row in peers:
        if "us" in row:
            best[row["problem"]] = min(best.get(row["problem"], (math.inf, "")), (row["us"], row["peer"]))
    return best


def is_behind(ours, peer):
    """More than 2 % slower, or below 10 µs more than 0.1 µs or 4 %, whichever is larger."""
    return ours - peer > (0.02 * peer if peer >= 10 else max(0.1, 0.04 * peer))


def copies(bench, peers):
    """The driver's copy of the same bytes in the peers' process over that in quern's. A process can be slower as a whole."""
    theirs = {row["problem"]: row["copy_us"] for row in peers if "copy_us" in row}
    ratios = [theirs[row["problem"]] / row["copy_us"] for row in bench
              if row["problem"] in theirs and row["copy_by"] == "driver" and row["us"] < 10]
    quantiles = ", ".join(f"{quantile(ratios, part):.2f}" for part in (0, 0.5, 0.75)) if ratios else "-"
    return f"The driver's copy below 10 us, theirs / ours: least, 1/2, 3/4: {quantiles}"


def regrets(tuned):
    return {row["problem"]: 100 * (row["default_us"] / row["us"] - 1) for row in tuned if "default_us" in row}


def summary(bench, best, regret):
    copies = [row["copy_percent"] for row in bench]
    ratios = [best[row["problem"]][0] / row["us"] for row in bench if row["problem"] in best]
    behind = sum(is_behind(row["us"], best[row["problem"]][0]) for row in bench if row["problem"] in best)
    cells = [", ".join(f"{quantile(copies, part):.0f}" for part in (0, 0.25, 0.5, 0.75)),
             ", ".join(f"{quantile(ratios, part):.2f}" for part in (0, 0.1, 0.25, 0.5, 0.75)) if ratios else "-",
             f"{behind} of {len(ratios)}"]
    if regret:
        mean = math.expm1(sum(math.log1p(percent / 100) for percent in regret.values()) / len(regret))
        cells.append(f"{100 * mean:.1f}, {max(regret.values()):.1f} of {len(regret)}")
    else:
        cells.append("-")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("peers")
    parser.add_argument("tune", nargs="?")
    parser.add_argument("--worst", type=int, default=10)
    arguments = parser.parse_args()
    bench, peers = [row for row in rows(arguments.bench) if "us" in row], rows(arguments.peers)
    best = best_peers(peers)
    regret = regrets(rows(arguments.tune)) if arguments.tune else {}
    print("| % of copy: least, 1/4, 1/2, 3/4 | peer / ours: least, 1/10, 1/4, 1/2, 3/4 | behind | regret, %: mean, worst |")
    print("|---|---|---|---|")
    print(summary(bench, best, regret))
    print("\n" + copies(bench, peers))
    print("\n| problem | µs | % of copy | best peer | µs | peer / ours | regret, % |")
    print("|---|---:|---:|---|---:|---:|---:|")
    ratio = {row["problem"]: best.get(row["problem"], (math.inf, "-"))[0] / row["us"] for row in bench}
    for row in sorted(bench, key=lambda row: ratio[row["problem"]])[:arguments.worst]:
        us, peer = best.get(row["problem"], (math.nan, "-"))
        found = f"{regret[row['problem']]:.1f}" if row["problem"] in regret else "-"
        print(f"| `{row['problem']}` | {row['us']:.2f} | {row['copy_percent']:.0f} | {peer} | {us:.2f} | {us / row['us']:.2f} |"
              f" {found} |")


if __name__ == "__main__":
    main()
