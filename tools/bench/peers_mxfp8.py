"""Peers of `mxfp8` in e4m3, modes rceil and floor: the definition in PyTorch, compiled, and a Triton kernel of tiles.
Dimensions that are no multiple of 32 are padded."""
import torch
import triton
import triton.language as tl

from peers_data import TYPES, compiled, random
from peers_timing import sets_for


def mx_blocks(x, mode):
    x = torch.nn.functional.pad(x, (0, -x.shape[-1] % 32))
    blocks = x.float().unflatten(-1, (-1, 32))
    bits = blocks.abs().amax(-1, keepdim=True).view(torch.int32) + (0x1FFFFF if mode == "rceil" else 0)
    scale = ((bits >> 23) - 8).clamp(min=0)
    factor = ((254 - scale) << 23).view(torch.float32)
    elements = (blocks * factor).clamp(-448, 448).to(torch.float8_e4m3fn).flatten(-2)
    return elements, scale.squeeze(-1).to(torch.uint8)


# Atoms of 128 lines x 4 blocks.
def blocked(scales):
    lines, blocks = scales.shape[-2:]
    scales = torch.nn.functional.pad(scales, (0, -blocks % 4, 0, -lines % 128))
    atoms = scales.unflatten(-1, (-1, 4)).unflatten(-3, (-1, 4, 32))
    return atoms.permute(0, 1, 4, 3, 2, 5).contiguous()


def mx_eager(direction, mode, layout):
    def one(x):
        elements, scales = mx_blocks(x, mode)
        return elements, blocked(scales) if layout == "blocked" else scales

    def quantize(x):
        rows = one(x) if direction != "col" else ()
        return rows + (one(x.transpose(-2, -1).contiguous()) if direction != "row" else ())

    return quantize


@triton.jit
def mx_scaled(tile, M: tl.constexpr, N: tl.constexpr, TURN: tl.constexpr):
    blocks = tl.reshape(tile, [M, N // 32, 32])
    bits = tl.max(tl.abs(blocks), 2).to(tl.int32, bitcast=True)
    scale = tl.maximum(((bits + TURN) >> 23) - 8, 0)
    factor = ((254 - scale) << 23).to(tl.float32, bitcast=True)
    return tl.reshape((blocks * factor[:, :, None]).to(tl.float8e4nv), [M, N]), scale.to(tl.uint8)


@triton.jit
def mx_store(tile, elements, scales, row, column, lines, line, M: tl.constexpr, N: tl.constexpr, TURN: tl.constexpr):
    q, s = mx_scaled(tile, M, N, TURN)
    at = row + tl.arange(0, M).to(tl.int64)
    inside = (at < lines)[:, None]
    columns, blocks = column + tl.arange(0, N), column // 32 + tl.arange(0, N // 32)
    tl.store(elements + at[:, None] * line + columns[None, :], q, inside & (columns < line)[None, :])
    tl.store(scales + at[:, None] * (line // 32) + blocks[None, :], s, inside & (blocks < line // 32)[None, :])


@triton.autotune([triton.Config({"M": m, "N": n}, num_warps=w) for m in (64, 128) for n in (64, 128) for w in (4, 8)],
                 ["rows", "cols", "ROW", "COL"])
@triton.jit
def mx_tiles(x, row_q, row_s, col_q, col_s, rows, cols, ROW: tl.constexpr, COL: tl.constexpr, TURN: tl.constexpr,
             M: tl.constexpr, N: tl.constexpr):
    across = tl.cdiv(cols, N)
    row, column = tl.program_id(0) // across * M, tl.program_id(0) % across * N
    first = tl.program_id(1).to(tl.int64) * rows * cols
    at, columns = row + tl.arange(0, M).to(tl.int64), column + tl.arange(0, N)
    inside = (at < rows)[:, None] & (columns < cols)[None, :]
    tile = tl.load(x + first + at[:, None] * cols + columns[None, :], inside, 0.0).to(tl.float32)
    if ROW:
        mx_store(tile, row_q + first, row_s + first // 32, row, column, rows, cols, M, N, TURN)
    if COL:
        mx_store(tl.trans(tile), col_q + first, col_s + first // 32, column, row, cols, rows, N, M, TURN)


def mx_triton(direction, mode):
    turn = 0x1FFFFF if mode == "rceil" else 0

    def quantize(x):
        experts, rows, cols = x.shape

        def pair(lines, line):
            return (torch.empty(experts, lines, line, dtype=torch.float8_e4m3fn, device="cuda"),
                    torch.empty(experts, lines, line // 32, dtype=torch.uint8, device="cuda"))

        by_row = pair(rows, cols) if direction != "col" else ()
        by_col = pair(cols, rows) if direction != "row" else ()
        grid = lambda c: (triton.cdiv(rows, c["M"]) * triton.cdiv(cols, c["N"]), experts)
        mx_tiles[grid](x, *(by_row or by_col), *(by_col or by_row), rows, cols, direction != "col", direction != "row",
                       turn)
        return by_row + by_col

    return quantize


def mxfp8(rows, cols=4096, experts=1, direction="row", dtype="bf16", mode="rceil", scale_layout="plain", tail="refuse"):
    rows, cols, experts, kind = int(rows), int(cols), int(experts), TYPES[dtype]
    if mode not in ("rceil", "floor"):
        raise ValueError(f"mode={mode}")
    nbytes = int(experts * rows * cols * (kind.itemsize + (2 if direction == "both" else 1) * 33 / 32))
    operands = [(random(kind, experts, rows, cols),) for _ in range(sets_for(nbytes))]
    peers = {"torch.compile": compiled(mx_eager(direction, mode, scale_layout))}
    if scale_layout == "plain" and rows % 32 == 0 and cols % 32 == 0:
        peers["Triton, tiles"] = mx_triton(direction, mode)
    return peers, operands, nbytes


PROBLEMS = [f"mxfp8 rows={rows} cols={cols}" + ("" if experts == 1 else f" experts={experts}") +
         ("" if direction == "row" else f" direction={direction}")
         for rows, cols, experts in ((8192, 5120, 1), (16384, 16384, 1), (131072, 7168, 1), (7168, 2048, 8), (8192, 5120, 8),
                                     (8192, 5120, 32)) for direction in ("row", "col", "both")]


def check_mxfp8():
    """Both peers must make the same bits."""
    for direction in ("row", "col", "both"):
        for mode in ("rceil", "floor"):
            x = torch.randn(2, 96, 160, device="cuda", dtype=torch.bfloat16) * 1000
            pairs = zip(mx_eager(direction, mode, "plain")(x), mx_triton(direction, mode)(x), strict=True)
            for a, b in pairs:
                assert torch.equal(a.view(torch.uint8), b.view(torch.uint8)), (direction, mode)
