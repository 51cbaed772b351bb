"""Peers of `embedding`: a look-up or a bag for each table and torch.cat, as a DLRM's model has them, compiled and not."""
import torch
import torch.nn.functional as F

from peers_data import INDEX_TYPES, TYPES, compiled, only_pass, random
from peers_timing import sets_for

CHECKS = [("embedding batch=50 tables=3 dim=3,16,17 rows=20,1,300 dense=5 hash=modulus", 0),
          ("embedding batch=50 tables=2 dim=8 rows=20 pooling=mean count=700", 1e-5)]
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


def embedding(batch="0", tables="26", dim="16", rows="1000000", dense="0", dtype="f32", table_dtype="", index="i64",
              hash="none", mode="assume_valid", pooling="none", count="0", offsets="i64", sample_weights="none", **others):
    if mode != "assume_valid" or only_pass(others) != "forward":
        raise ValueError(f"mode={mode}" if mode != "assume_valid" else "pass=backward")
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
        weights = [random(kind, height, d) for kind, height, d in zip(kinds, heights, dims)]
        first = random(out_type, batch, dense) if dense else None
        if pooling not in POOLINGS:
            return weights, torch.stack([drawn(height, batch) for height in heights], 1), first
        begins = [torch.arange(batch, device="cuda") * ids // max(batch, 1) for _ in heights]
        factors = None if sample_weights == "none" else [random(TYPES[sample_weights], ids) for _ in heights]
        return weights, [drawn(height, ids) for height in heights], [b.to(entry) for b in begins], first, factors

    bags = pooling in POOLINGS
    call = pooled(heights, hash, pooling, out_type) if bags else looked_up(heights, hash, out_type)
    name = "embedding_bag" if bags else "embedding"
    operands = [one() for _ in range(sets_for(max(nbytes, 1), held))]
    return {f"torch {name} and cat": call, f"torch.compile {name} and cat": compiled(call)}, operands, nbytes
