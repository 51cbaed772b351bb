"""Peers of `scatter`: index_copy_ and index_add_ of PyTorch, compiled and not, and a Triton kernel with a row a program.
Indices that are skipped go to a spare row after the last, since those operators take none outside of out."""
import torch
import triton
import triton.language as tl

from peers_data import INDEX_TYPES, TYPES, compiled, random, row_block
from peers_timing import sets_for

ALPHA = 0.5
# A problem, and how far results may be apart: sums of repeated rows depend on the order of atomics.
CHECKS = [("scatter rows=80 count=60 width=72 mode=skip index=i32", 0),
          ("scatter rows=80 count=60 width=72 order=given rest=zero mode=skip", 0),
          ("scatter rows=80 count=60 width=72 op=add dtype=f32 factor=alpha scale=f32", 1e-5),
          ("scatter rows=80 count=60 width=72 op=add dtype=f32 scale=f32 scale_of=rows mode=skip", 1e-5),
          ("scatter rows=8 count=60 width=72 op=add dtype=f32 order=given rest=zero mode=skip", 1e-4),
          ("scatter rows=8 count=60 width=72 op=add dtype=f32 order=given", 1e-4)]


@triton.jit
def scatter_rows(source, index, out, scale, rows, width, alpha, ADD: tl.constexpr, OF_COLUMNS: tl.constexpr,
                 OF_ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    row = tl.load(index + i).to(tl.int64)
    used = (row >= 0) & (row < rows)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = (at < width) & used
        value = tl.load(source + i * width + at, inside)
        if ADD:
            factor = alpha
            if OF_COLUMNS:
                factor = factor * tl.load(scale + at, inside).to(tl.float32)
            if OF_ROWS:
                factor = factor * tl.load(scale + i).to(tl.float32)
            value = tl.load(out + row * width + at, inside).to(tl.float32) + factor * value.to(tl.float32)
        tl.store(out + row * width + at, value, inside)


def triton_scatter(rows, width, adds, scale_of, zeroes, alpha):
    def scatter(x, i, out, s):
        target = torch.zeros_like(out) if zeroes else out
        scatter_rows[(i.numel(),)](x, i, target, s, rows, width, alpha, adds, scale_of == "columns", scale_of == "rows",
                                   row_block(width))
        return target[:rows]

    return scatter


def torch_scatter(rows, name, skips, scale_of, zeroes, alpha):
    def scatter(x, i, out, s):
        target = torch.zeros_like(out) if zeroes else out
        i = (torch.where((i < 0) | (i >= rows), rows, i) if skips else i).long()
        if scale_of != "none":
            x = (x * (s if scale_of == "columns" else s.unsqueeze(1))).to(x.dtype)
        if name == "index_copy_":
            target.index_copy_(0, i, x)
        elif name == "index_add_":
            target.index_add_(0, i, x, alpha=alpha)
        else:
            target.index_put_((i,), x if alpha == 1 else x * alpha, accumulate=True)
        return target[:rows]

    return scatter


def scatter_peers(rows, width, op, order, skips, scale_of, zeroes, alpha):
    adds, first = op == "add", "zeros + " if zeroes else ""
    name = "index_add_" if adds else "index_copy_"
    eager = torch_scatter(rows, name, skips, scale_of, zeroes, alpha)
    peers = {f"torch {first}{name}": eager, f"torch.compile {first}{name}": compiled(eager)}
    if adds and order == "given":
        peers[f"torch {first}index_put_, deterministic"] = torch_scatter(rows, "index_put_", skips, scale_of, zeroes, alpha)
    else:  # a program may not add to a row while another does
        peers[f"Triton, {first}a row a program"] = triton_scatter(rows, width, adds, scale_of, zeroes, alpha)
    return peers


def indices(rows, count, repeats, skips):
    """As quern's benchmarks have them: each row equally often, or once. An eighth is outside of out where it may be."""
    shuffled = torch.randperm(count, device="cuda")
    if repeats:
        index = shuffled % rows
    else:
        index = torch.full((count,), -1, device="cuda")
        index[:rows] = torch.randperm(rows, device="cuda")[:count]
        index = index[shuffled]
    if not skips:
        return index
    outside = torch.where(torch.rand(count, device="cuda") < 0.5, -1, rows)
    return torch.where((index < 0) | (torch.rand(count, device="cuda") < 0.125), outside, index)


def scatter(rows, count, width=4096, op="copy", dtype="bf16", index="i64", mode="assume_valid", order="none", rest="leave",
            factor="none", scale="none", scale_of="columns"):
    rows, count, width, kind, entry = int(rows), int(count), int(width), TYPES[dtype], INDEX_TYPES[index]
    skips, zeroes, scale_of = mode == "skip", rest == "zero", "none" if scale == "none" else scale_of
    repeats = order == "given" and (op == "add" or count > rows)
    if count > rows and not skips and not repeats:
        raise ValueError(f"count={count}, rows={rows} without repeats")
    named = min(rows, count)
    written = rows if zeroes else 2 * named if op == "add" else named
    nbytes = (count + written) * width * kind.itemsize + count * (entry.itemsize + (4 if order == "given" else 0))
    operands = [(random(kind, count, width), indices(rows, count, repeats, skips).to(entry),
                 random(kind, rows + skips, width),
                 None if scale == "none" else random(TYPES[scale], width if scale_of == "columns" else count))
                for _ in range(sets_for(nbytes, (count + rows) * width * kind.itemsize))]
    alpha = ALPHA if factor == "alpha" else 1.0
    return scatter_peers(rows, width, op, order, skips, scale_of, zeroes, alpha), operands, nbytes
