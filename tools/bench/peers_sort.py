"""Peers of `index_sort`, which are torch.sort, and of `chunk_sort`. Those of chunk_sort are given the row that each row of
out comes from: that map is made beforehand and not timed."""
import torch
import triton
import triton.language as tl

from peers_data import INDEX_TYPES, MOVED_TYPES, TYPES, compiled, only_pass, random, row_block, scale_shape
from peers_timing import sets_for

CHECKS = [("index_sort rows=9 count=200", 0), ("index_sort rows=9 count=200 index=i32", 0),
          ("chunk_sort rows=70 hidden=96 chunks=5 probs=f32 dtype=e4m3 scaling=mx", 0),
          ("chunk_sort rows=70 hidden=96 chunks=5 pass=backward", 0)]


def index_sort(rows, count, index="i64"):
    rows, count, entry = int(rows), int(count), INDEX_TYPES[index]
    nbytes = count * (entry.itemsize + 8)
    operands = [(torch.randint(rows, (count,), device="cuda", dtype=entry),) for _ in range(sets_for(nbytes))]
    peers = {"torch.sort, stable": lambda i: torch.sort(i, stable=True)}
    if index == "i64":  # half as many digits
        peers["torch.sort of i32, stable"] = lambda i: torch.sort(i.int(), stable=True)
    return peers, operands, nbytes


@triton.jit
def moved_rows(source, origin, out, probs, out_probs, scales, out_scales, width, PROBS: tl.constexpr, SCALES: tl.constexpr,
               SCALE_BLOCK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    row = tl.load(origin + i).to(tl.int64)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < width
        tl.store(out + i * width + at, tl.load(source + row * width + at, inside), inside)
    if PROBS:
        tl.store(out_probs + i, tl.load(probs + row))
    if SCALES > 0:
        at = tl.arange(0, SCALE_BLOCK)
        tl.store(out_scales + i * SCALES + at, tl.load(scales + row * SCALES + at, at < SCALES), at < SCALES)


def triton_moved(x, origin, probs, scales):
    out, made = torch.empty_like(x), [None if part is None else torch.empty_like(part) for part in (probs, scales)]
    count = 0 if scales is None else scales.shape[1]
    moved_rows[(x.shape[0],)](x, origin, out, x if probs is None else probs, x if probs is None else made[0],
                              x if scales is None else scales, x if scales is None else made[1], x.shape[1],
                              probs is not None, count, row_block(count, 1 << 20), row_block(x.shape[1]))
    return out, *made


def torch_moved(x, origin, probs, scales):
    return tuple(None if part is None else part[origin] for part in (x, probs, scales))


def origins(rows, chunks, backward):
    """Of chunks of about the same size in a random order: the row that each row of out comes from."""
    ends = [rows * (chunk + 1) // chunks for chunk in range(chunks)]
    chunk_of = torch.searchsorted(torch.tensor(ends, device="cuda"), torch.arange(rows, device="cuda"), right=True)
    place = torch.randperm(chunks, device="cuda")
    forward = torch.sort(place[chunk_of], stable=True)[1]
    return torch.argsort(forward) if backward else forward


def chunk_sort(rows, hidden=4096, chunks=8, dtype="bf16", probs="none", scaling="none", index="i32", **others):
    rows, hidden, kind = int(rows), int(hidden), MOVED_TYPES[dtype]
    backward, (count, scale_kind), entry = only_pass(others) == "backward", scale_shape(scaling, hidden), INDEX_TYPES[index]
    of_row = hidden * kind.itemsize + count * scale_kind.itemsize + (0 if probs == "none" else TYPES[probs].itemsize)
    nbytes = 2 * rows * of_row + 2 * int(chunks) * entry.itemsize
    origin = origins(rows, int(chunks), backward)
    operands = [(random(kind, rows, hidden), origin.clone(), None if probs == "none" else random(TYPES[probs], rows),
                 random(scale_kind, rows, count) if count else None) for _ in range(sets_for(nbytes))]
    peers = {"torch eager": torch_moved, "torch.compile": compiled(torch_moved), "Triton, a row a program": triton_moved}
    return peers, operands, nbytes
