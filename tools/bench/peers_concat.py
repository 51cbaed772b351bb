"""Peers of `concat`: torch.cat, of picked rows too, and copies of the parts of a matrix, compiled and not."""
import torch

from peers_data import INDEX_TYPES, TYPES, compiled, only_pass, random
from peers_timing import sets_for

CHECKS = [("concat rows=50 widths=3,0,17", 0), ("concat rows=50 widths=3,17 layout=flat pass=backward", 0),
          ("concat rows=50 widths=3,17 index=i32 source_rows=70,9 mode=zero", 0)]


def picked(source, index, mode):
    if index is None:
        return source
    if mode == "assume_valid":
        return source[index]
    outside = (index < 0) | (index >= source.shape[0])
    return torch.where(outside.unsqueeze(1), 0, source[torch.where(outside, 0, index)])


def joined(flat, mode):
    def join(sources, index):
        rows = [picked(source, i, mode) for source, i in zip(sources, index)]
        return torch.cat([part.flatten() for part in rows]) if flat else torch.cat(rows, 1)

    return join


def parted(flat, counts, widths):
    """Copies, also where a part has no gaps."""

    def part(matrix):
        sizes = [count * width for count, width in zip(counts, widths)] if flat else list(widths)
        return [piece.clone(memory_format=torch.contiguous_format) for piece in torch.split(matrix, sizes, -1)]

    return part


def indices(rows, count, mode):
    """Each row once where there are enough. An eighth is none where that has a meaning."""
    some = torch.randperm(min(rows, count), device="cuda") * max(1, rows // count)
    index = some[torch.arange(count, device="cuda") % some.numel()]
    return index if mode == "assume_valid" else torch.where(torch.rand(count, device="cuda") < 0.125, -1, index)


def integers(text):
    return [int(entry) for entry in text.split(",") if entry]


def concat(rows="0", layout="columns", widths="64,64", dtype="bf16", counts="", index="none", source_rows="",
           mode="assume_valid", **others):
    flat, backward, kind, widths = layout == "flat", only_pass(others) == "backward", TYPES[dtype], integers(widths)
    counts = integers(counts) or [int(rows)] * len(widths)
    heights = integers(source_rows) or counts
    if backward and index != "none":
        raise ValueError("pass=backward with an index")
    if index != "none" and min(heights) == 0:
        raise ValueError(f"source_rows={source_rows}")
    entry = None if index == "none" else INDEX_TYPES[index]
    elements = sum(count * width for count, width in zip(counts, widths))
    nbytes = 2 * elements * kind.itemsize + (sum(counts) * entry.itemsize if entry else 0)
    held = kind.itemsize * sum(height * width for height, width in zip(heights, widths))
    shape = (elements,) if flat else (counts[0], sum(widths))

    def one():
        if backward:
            return (random(kind, *shape),)
        return ([random(kind, height, width) for height, width in zip(heights, widths)],
                [entry and indices(height, count, mode).to(entry) for height, count in zip(heights, counts)])

    eager = parted(flat, counts, widths) if backward else joined(flat, mode)
    name = "split, a copy of each" if backward else "cat" if entry is None else "cat of picked rows"
    operands = [one() for _ in range(sets_for(max(nbytes, 1), held))]
    return {f"torch {name}": eager, f"torch.compile {name}": compiled(eager)}, operands, nbytes
