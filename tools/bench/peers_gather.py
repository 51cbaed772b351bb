"""Peers of `gather`: PyTorch's own operators, compiled and not, and a Triton kernel with a row a program."""
import torch
import triton
import triton.language as tl

from peers_data import INDEX_TYPES, TYPES, compiled, random, row_block
from peers_timing import sets_for


@triton.jit
def gather_rows(source, index, out, width, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    row = tl.load(index + i).to(tl.int64)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < width
        tl.store(out + i.to(tl.int64) * width + at, tl.load(source + row * width + at, inside), inside)


def gather_peers(width, mode):
    if mode == "minus_one_is_zero":
        eager = lambda x, i: torch.where((i < 0).unsqueeze(1), 0, x[i.clamp(min=0)])
        return {"torch eager": eager, "torch.compile": compiled(eager)}

    def triton_rows(x, i):
        y = torch.empty(i.numel(), width, dtype=x.dtype, device="cuda")
        gather_rows[(i.numel(),)](x, i, y, width, row_block(width))
        return y

    return {
        "torch index_select": lambda x, i: torch.index_select(x, 0, i),
        "torch.compile x[i]": compiled(lambda x, i: x[i]),
        "Triton, a row a program": triton_rows,
    }


def indices(rows, count, mode):
    """As quern generates them: one permutation after another; an eighth is -1 where that has a meaning."""
    all = torch.cat([torch.randperm(rows, device="cuda") for _ in range(-(-count // rows))])[:count]
    return torch.where(torch.rand(count, device="cuda") < 0.125, -1, all) if mode == "minus_one_is_zero" else all


def gather(rows, count, width=4096, dtype="bf16", index="i64", mode="assume_valid"):
    rows, count, width, kind, entry = int(rows), int(count), int(width), TYPES[dtype], INDEX_TYPES[index]
    if mode not in ("assume_valid", "minus_one_is_zero"):
        raise ValueError(f"mode={mode}")
    nbytes = 2 * count * width * kind.itemsize + entry.itemsize * count
    operands = [(random(kind, rows, width), indices(rows, count, mode).to(entry))
                for _ in range(sets_for(nbytes, rows * width * kind.itemsize))]
    return gather_peers(width, mode), operands, nbytes


PROBLEMS = [f"gather rows={r} count={c} width={w} dtype={d}" for r, c, w, d in (
    (1024, 512, 4096, "f16"), (4096, 4096, 4096, "f16"), (8192, 8192, 4096, "f16"), (131072, 131072, 2048, "f16"),
    (4096, 4096, 5120, "bf16"), (8192, 8192, 8192, "bf16"), (65536, 65536, 7168, "bf16"), (16384, 16384, 2880, "bf16"),
    (65536, 65536, 1000, "bf16"), (16384, 16384, 4097, "bf16"), (1048576, 1048576, 64, "f32"), (64, 64, 7168, "bf16"))]
