"""Peers of `index_sort`, which are torch.sort, and of `chunk_sort`, which are given what it is given: the sizes of the
chunks and their order."""
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
def origin_of(row, sizes, order, chunks, BACKWARD: tl.constexpr, CHUNKS: tl.constexpr):
    """The row that row `row` of out comes from, by the sizes of all chunks."""
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    size = tl.load(sizes + chunk, inside, 0)
    placed = tl.load(sizes + tl.load(order + chunk, inside, 0), inside, 0)
    if BACKWARD:
        mine = tl.sum((tl.cumsum(size, 0) <= row).to(tl.int32))
        place = tl.sum(tl.where((tl.load(order + chunk, inside, 0) == mine) & inside, chunk, 0))
    else:
        place = tl.sum((tl.cumsum(placed, 0) <= row).to(tl.int32))
        mine = tl.load(order + place)
    start = tl.sum(tl.where(chunk < mine, size, 0))
    placed_start = tl.sum(tl.where(chunk < place, placed, 0))
    return row - start + placed_start if BACKWARD else row - placed_start + start


@triton.jit
def chunk_origins(origin, sizes, order, chunks, BACKWARD: tl.constexpr, CHUNKS: tl.constexpr):
    row = tl.program_id(0)
    tl.store(origin + row, origin_of(row, sizes, order, chunks, BACKWARD, CHUNKS))


@triton.jit
def moved_rows(source, origin, sizes, order, chunks, out, probs, out_probs, scales, out_scales, width, BACKWARD: tl.constexpr,
               MADE: tl.constexpr, CHUNKS: tl.constexpr, PROBS: tl.constexpr, SCALES: tl.constexpr,
               SCALE_BLOCK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    if MADE:
        row = tl.load(origin + i).to(tl.int64)
    else:
        row = origin_of(tl.program_id(0), sizes, order, chunks, BACKWARD, CHUNKS).to(tl.int64)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < width
        tl.store(out + i * width + at, tl.load(source + row * width + at, inside), inside)
    if PROBS:
        tl.store(out_probs + i, tl.load(probs + row))
    if SCALES > 0:
        at = tl.arange(0, SCALE_BLOCK)
        tl.store(out_scales + i * SCALES + at, tl.load(scales + row * SCALES + at, at < SCALES), at < SCALES)


def triton_moved(x, sizes, order, probs, scales, backward, launches):
    """In one launch each program looks its row up; in two the first makes the map of rows."""
    out, made = torch.empty_like(x), [None if part is None else torch.empty_like(part) for part in (probs, scales)]
    rows, chunks, count = x.shape[0], sizes.shape[0], 0 if scales is None else scales.shape[1]
    origin = torch.empty(rows, dtype=torch.int32, device="cuda") if launches == 2 else sizes
    block = triton.next_power_of_2(chunks)
    if launches == 2:
        chunk_origins[(rows,)](origin, sizes, order, chunks, backward, block)
    moved_rows[(rows,)](x, origin, sizes, order, chunks, out, x if probs is None else probs, x if probs is None else made[0],
                        x if scales is None else scales, x if scales is None else made[1], x.shape[1], backward,
                        launches == 2, block, probs is not None, count, row_block(count, 1 << 20), row_block(x.shape[1]))
    return out, *made


def torch_moved(x, sizes, order, probs, scales, backward):
    ends, placed = sizes.cumsum(0), sizes[order]
    placed_ends, rows = placed.cumsum(0), torch.arange(x.shape[0], device="cuda")
    if backward:
        chunk = torch.searchsorted(ends, rows, right=True)
        place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device="cuda", dtype=order.dtype))[chunk]
        origin = rows - (ends - sizes)[chunk] + (placed_ends - placed)[place]
    else:
        place = torch.searchsorted(placed_ends, rows, right=True)
        origin = rows - (placed_ends - placed)[place] + (ends - sizes)[order[place]]
    return tuple(None if part is None else part[origin] for part in (x, probs, scales))


def chunks_of(rows, chunks, entry):
    """Chunks of about the same size, in a random order."""
    ends = torch.tensor([0] + [rows * (chunk + 1) // chunks for chunk in range(chunks)], device="cuda")
    return ends.diff().to(entry), torch.randperm(chunks, device="cuda").to(entry)


def chunk_sort(rows, hidden=4096, chunks=8, dtype="bf16", probs="none", scaling="none", index="i32", **others):
    rows, hidden, kind = int(rows), int(hidden), MOVED_TYPES[dtype]
    backward, (count, scale_kind), entry = only_pass(others) == "backward", scale_shape(scaling, hidden), INDEX_TYPES[index]
    of_row = hidden * kind.itemsize + count * scale_kind.itemsize + (0 if probs == "none" else TYPES[probs].itemsize)
    nbytes = 2 * rows * of_row + 2 * int(chunks) * entry.itemsize
    operands = [(random(kind, rows, hidden), *chunks_of(rows, int(chunks), entry),
                 None if probs == "none" else random(TYPES[probs], rows),
                 random(scale_kind, rows, count) if count else None) for _ in range(sets_for(nbytes))]
    # PyTorch's scatter wants indices of 64 bits.
    wide = lambda *given: torch_moved(given[0], given[1], given[2].long(), *given[3:], backward)
    peers = {"torch eager": wide, "torch.compile": compiled(wide),
             "Triton, a row a program": lambda *given: triton_moved(*given, backward, 1),
             "Triton, rows looked up before": lambda *given: triton_moved(*given, backward, 2)}
    return peers, operands, nbytes
