"""Peers of `embedding`: a look-up or a bag for each table and torch.cat, as a DLRM has them, compiled and not."""
import torch
import torch.nn.functional as F

from peers_data import INDEX_TYPES, TYPES, compiled, only_pass, random
from peers_timing import sets_for

CHECKS = [("embedding batch=50 tables=3 dim=3,16,17 rows=20,1,300 dense=5 hash=modulus", 0),
          ("embedding batch=50 tables=2 dim=8 rows=20 pooling=mean count=700", 1e-5),
          ("embedding batch=50 tables=2 dim=8 rows=20 dense=4 hash=modulus pass=backward", 1e-5)]
POOLINGS = ("sum", "mean", "max")


def of_each(text, tables):
    entries = [int(entry) for entry in text.split(",")]
    return entries if len(entries) == tables else entries * tables


def hashed(ids, rows, hash):
    return ids if hash == "none" else (ids + 1) % rows


def looked_up(rows, hash, out_type):
    def look_up(weights, index, dense):
        parts = [] if dense is None else [dense]
        parts += [F.embedding(hashed(index[:, t], rows[t], hash), w).to(out_type) for t, w in enumerate(weights)]
        return torch.cat(parts, 1)

    return look_up


def pooled(rows, hash, pooling, out_type):
    """Offsets of each table count from its own first id, as PyTorch's do."""

    def pool(weights, index, offsets, dense, factors):
        parts = [] if dense is None else [dense]
        for t, w in enumerate(weights):
            weight = None if factors is None else factors[t].to(w.dtype)
            ids = hashed(index[t], rows[t], hash)
            parts.append(F.embedding_bag(ids, w, offsets[t], mode=pooling, per_sample_weights=weight).to(out_type))
        return torch.cat(parts, 1)

    return pool


def summed(rows, dims, hash, dense):
    """The gradients of all rows of the tables, zeros for those that no id names, and of the dense part."""

    def add_up(gradient, index):
        first, *parts = gradient.split([dense, *dims], 1)
        sums = [torch.zeros(height, d, dtype=gradient.dtype, device=gradient.device).index_add_(
            0, hashed(index[:, t], height, hash), part) for t, (height, d, part) in enumerate(zip(rows, dims, parts))]
        return [first.contiguous(), *sums]

    return add_up


def embedding(batch="0", tables="26", dim="16", rows="1000000", dense="0", dtype="f32", table_dtype="", index="i64",
              hash="none", mode="assume_valid", pooling="none", count="0", offsets="i64", sample_weights="none", **others):
    backward = only_pass(others) == "backward"
    if mode != "assume_valid" or (backward and pooling != "none"):
        raise ValueError(f"mode={mode}" if mode != "assume_valid" else f"pass=backward pooling={pooling}")
    tables, batch, dense = int(tables), int(batch), int(dense)
    dims, heights, out_type = of_each(dim, tables), of_each(rows, tables), TYPES[dtype]
    names = (table_dtype or dtype).split(",")
    kinds = [TYPES[name] for name in (names if len(names) == tables else names * tables)]
    entry, ids = INDEX_TYPES[index], int(count) // tables if pooling in POOLINGS else batch
    top = 2**31 - 1 if entry is torch.int32 else 2**32
    nbytes = batch * (2 * dense + sum(dims)) * out_type.itemsize + tables * ids * entry.itemsize + sum(
        min(ids, height) * max(64, d * kind.itemsize) for height, d, kind in zip(heights, dims, kinds))
    held = sum(height * d * kind.itemsize for height, d, kind in zip(heights, dims, kinds))

    def drawn(height, *shape):
        return torch.randint(0, height if hash == "none" else top, shape, device="cuda", dtype=torch.int64).to(entry)

    def one():
        weights = [] if backward else [random(kind, height, d) for kind, height, d in zip(kinds, heights, dims)]
        if backward:
            gradient = random(out_type, batch, dense + sum(dims))
            return gradient, torch.stack([drawn(height, batch) for height in heights], 1)
        first = random(out_type, batch, dense) if dense else None
        if pooling not in POOLINGS:
            return weights, torch.stack([drawn(height, batch) for height in heights], 1), first
        begins = [torch.arange(batch, device="cuda") * ids // max(batch, 1) for _ in heights]
        factors = None if sample_weights == "none" else [random(TYPES[sample_weights], ids) for _ in heights]
        return weights, [drawn(height, ids) for height in heights], [b.to(entry) for b in begins], first, factors

    bags = pooling in POOLINGS
    if backward:
        call, name = summed(heights, dims, hash, dense), "index_add into zeros"
    elif bags:
        call, name = pooled(heights, hash, pooling, out_type), "embedding_bag and cat"
    else:
        call, name = looked_up(heights, hash, out_type), "embedding and cat"
    operands = [one() for _ in range(sets_for(max(nbytes, 1), held))]
    return {f"torch {name}": call, f"torch.compile {name}": compiled(call)}, operands, nbytes
