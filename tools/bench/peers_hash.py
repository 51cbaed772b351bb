"""Peers of `hash_table`. PyTorch has no hash table: its users sort the keys once, and search by bisection. The index hash of
DLRM compares each pair, which is a peer where that matrix is small."""
import torch

from peers_data import INDEX_TYPES
from peers_timing import sets_for

CHECKS = [("hash_table op=find count=300 capacity=256", 0), ("hash_table op=find count=300 capacity=256 dtype=i32", 0)]
MOST_PAIRS = 1 << 28


def random_keys(count, kind):
    ends = torch.iinfo(kind)
    return torch.randint(ends.min, ends.max, (count,), device="cuda", dtype=kind)


def bisected(x, ordered, positions):
    at = torch.searchsorted(ordered, x).clamp_(max=ordered.numel() - 1)
    return torch.where(ordered[at] == x, positions[at], 0)


def build(count, kind, capacity):
    nbytes = count * kind.itemsize + capacity * 16
    operands = [(random_keys(count, kind),) for _ in range(sets_for(nbytes))]
    return {"torch.sort, stable": lambda keys: torch.sort(keys, stable=True)}, operands, nbytes


def find(count, kind, capacity):
    keys = random_keys(max(1, capacity // 2), kind)
    ordered, positions = torch.sort(keys, stable=True)
    nbytes = count * (kind.itemsize + 8) + min(64 * count, 16 * capacity)  # about
    operands = []
    for _ in range(sets_for(nbytes)):
        known = keys[torch.randint(keys.numel(), (count,), device="cuda")]
        x = torch.where(torch.rand(count, device="cuda") < 0.5, known, random_keys(count, kind))
        operands.append((x, ordered.clone(), positions.clone(), keys.clone()))
    peers = {"torch.searchsorted": lambda x, ordered, positions, keys: bisected(x, ordered, positions)}
    if count * keys.numel() <= MOST_PAIRS:
        peers["torch eager, each pair"] = lambda x, ordered, positions, keys: (x[:, None] == keys).int().argmax(1)
    return peers, operands, nbytes


def hash_table(count, op="build", capacity="0", dtype="i64"):
    count, kind = int(count), INDEX_TYPES[dtype]
    least = 1 << max(0, 2 * count - 1).bit_length()
    return build(count, kind, int(capacity) or least) if op == "build" else find(count, kind, int(capacity))
