#!/usr/bin/env python3
"""What a PyTorch user would run instead of `gather`, `pointwise` and `mxfp8`, timed as `quern bench` times its own kernels:
CUDA-graph replays with cold L2 (rotating operands of 256 MB or more; small calls between L2 flushes, minus the flush time),
medians. One JSON line a row: problem, peer, us. Needs torch and triton.

usage: peers.py [FILE] [--only SUBSTRING]
  FILE       problems, as `quern bench --json` prints them; default: the tables below. A problem that no peer can take
             gives a row that says so
  SUBSTRING  of the problem text"""
import argparse
import json
import statistics

import torch
import triton
import triton.language as tl

torch._dynamo.config.cache_size_limit = 512
FLUSH_CALLS = 40


def is_small(nbytes):
    return 400 * nbytes < 180e6


def sets_for(nbytes, set_bytes=0):
    """One, with flushes, where the operands are so much larger than what a call uses of them that many take too much memory."""
    sets = 4 if is_small(nbytes) else max(2, min(400, -(-256_000_000 // nbytes)))
    return 1 if sets > 2 and sets * set_bytes > 4e9 else sets


def capture(calls, count, flush=None):
    stream, current = torch.cuda.Stream(), torch.cuda.current_stream()
    stream.wait_stream(current)
    graph, keep = torch.cuda.CUDAGraph(), []
    with torch.cuda.stream(stream):
        for call in calls[:2]:
            call()
        torch.cuda.synchronize()
        graph.capture_begin()
        for i in range(count):
            if flush is not None:
                flush.zero_()
            if calls:
                keep = (keep + [calls[i % len(calls)]()])[-len(calls):]  # outputs rotate like inputs
        graph.capture_end()
    current.wait_stream(stream)
    return graph


def elapsed_us(graph):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def cold_us(calls, nbytes):
    if is_small(nbytes) or len(calls) == 1:
        flush = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
        both, alone = capture(calls, FLUSH_CALLS, flush), capture([], FLUSH_CALLS, flush)
        samples = [(elapsed_us(both) - elapsed_us(alone)) / FLUSH_CALLS for _ in range(23)]
    else:
        wanted = int(max(2, min(400, 2000 / max(2.0, nbytes / 3.5e6))))
        count = len(calls) * -(-wanted // len(calls))
        graph = capture(calls, count)
        samples = [elapsed_us(graph) / count for _ in range(23)]
    return statistics.median(samples[2:])


@triton.jit
def gather_rows(source, index, out, width, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    row = tl.load(index + i).to(tl.int64)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < width
        tl.store(out + i.to(tl.int64) * width + at, tl.load(source + row * width + at, inside), inside)


@triton.jit
def relu_multiply_add(x, y, bias, out, count, width, multiplier, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    z = tl.load(x + at, inside) + multiplier * tl.load(y + at, inside) + tl.load(bias + at % width, inside)
    tl.store(out + at, tl.maximum(z, 0.0), inside)


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, dynamic=False)


def gather_peers(width, mode):
    if mode == "minus_one_is_zero":
        eager = lambda x, i: torch.where((i < 0).unsqueeze(1), 0, x[i.clamp(min=0)])
        return {"torch eager": eager, "torch.compile": compiled(eager)}

    def triton_rows(x, i):
        y = torch.empty(i.numel(), width, dtype=x.dtype, device="cuda")
        gather_rows[(i.numel(),)](x, i, y, width, 4096 if width >= 4096 else triton.next_power_of_2(width))
        return y

    return {
        "torch index_select": lambda x, i: torch.index_select(x, 0, i),
        "torch.compile x[i]": compiled(lambda x, i: x[i]),
        "Triton, a row a program": triton_rows,
    }


ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "identity": lambda x: x,
}


def pointwise_eager(activation, multiply_add, bias):
    act = ACTIVATIONS[activation]
    if multiply_add:
        return (lambda x, y, b: act(x + 0.5 * y + b)) if bias else (lambda x, y, b: act(x + 0.5 * y))
    if bias:
        return lambda x, y, b: act(x + b)
    return (lambda x, y, b: x.clone()) if activation == "identity" else (lambda x, y, b: act(x))


def pointwise_peers(activation, multiply_add, bias):
    eager = pointwise_eager(activation, multiply_add, bias)
    peers = {"torch eager": eager, "torch.compile": compiled(eager)}
    if multiply_add and bias and activation == "relu":

        def triton_flat(x, y, b):
            out = torch.empty_like(x)
            block = min(1024, triton.next_power_of_2(x.numel()))
            relu_multiply_add[(triton.cdiv(x.numel(), block),)](x, y, b, out, x.numel(), x.shape[1], 0.5, block)
            return out

        peers["Triton"] = triton_flat
    return peers


# ---- mxfp8: e4m3; modes rceil and floor; dimensions that are no multiple of 32 are padded


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


def report(problem, peer, call, operands, nbytes):
    row = {"problem": problem, "peer": peer}
    try:
        row["us"] = round(cold_us([lambda o=o: call(*o) for o in operands], nbytes), 3)
    except Exception as error:  # a peer that does not support a shape gives a row, and the run continues
        row["error"] = f"{type(error).__name__}: {error}"[:200]
    print(json.dumps(row), flush=True)


# ---- Problems. Each takes the fields of a problem's text and returns peers, sets of operands, and the bytes of a call.

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "u8": torch.uint8}


def random(kind, *shape):
    return torch.randint(0, 255, shape, dtype=kind, device="cuda") if kind is torch.uint8 else torch.randn(
        *shape, device="cuda").to(kind)


def indices(rows, count, mode):
    """As quern generates them: one permutation after another; an eighth is -1 where that has a meaning."""
    all = torch.cat([torch.randperm(rows, device="cuda") for _ in range(-(-count // rows))])[:count]
    return torch.where(torch.rand(count, device="cuda") < 0.125, -1, all) if mode == "minus_one_is_zero" else all


def gather(rows, count, width=4096, dtype="bf16", index="i64", mode="assume_valid"):
    rows, count, width, kind = int(rows), int(count), int(width), TYPES[dtype]
    entry = {"i64": torch.int64, "i32": torch.int32}[index]
    if mode not in ("assume_valid", "minus_one_is_zero"):
        raise ValueError(f"mode={mode}")
    nbytes = 2 * count * width * kind.itemsize + entry.itemsize * count
    operands = [(random(kind, rows, width), indices(rows, count, mode).to(entry))
                for _ in range(sets_for(nbytes, rows * width * kind.itemsize))]
    return gather_peers(width, mode), operands, nbytes


def pointwise(rows, width=4096, dtype="bf16", op="bias_act", activation="relu", bias_spread="row"):
    rows, width, kind, multiply_add = int(rows), int(width), TYPES[dtype], op == "add_mul_act"
    if bias_spread not in ("row", "none"):
        raise ValueError(f"bias_spread={bias_spread}")
    nbytes = (3 if multiply_add else 2) * rows * width * kind.itemsize
    operands = [(random(kind, rows, width), random(kind, rows, width) if multiply_add else None, random(kind, width))
                for _ in range(sets_for(nbytes))]
    return pointwise_peers(activation, multiply_add, bias_spread == "row"), operands, nbytes


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


GATHERS = [f"gather rows={r} count={c} width={w} dtype={d}" for r, c, w, d in (
    (1024, 512, 4096, "f16"), (4096, 4096, 4096, "f16"), (8192, 8192, 4096, "f16"), (131072, 131072, 2048, "f16"),
    (4096, 4096, 5120, "bf16"), (8192, 8192, 8192, "bf16"), (65536, 65536, 7168, "bf16"), (16384, 16384, 2880, "bf16"),
    (65536, 65536, 1000, "bf16"), (16384, 16384, 4097, "bf16"), (1048576, 1048576, 64, "f32"), (64, 64, 7168, "bf16"))]
POINTWISE = [f"pointwise rows={4 ** i} width={2 << i} op=add_mul_act dtype=f32" for i in range(1, 10)] + [
    "pointwise rows=262144 width=1024 op=add_mul_act dtype=bf16",
    "pointwise rows=262144 width=1024 op=add_mul_act activation=gelu dtype=bf16",
    "pointwise rows=65536 width=4096 activation=silu dtype=bf16",
    "pointwise rows=65536 width=4097 activation=silu dtype=bf16",
    "pointwise rows=65536 width=4096 activation=identity bias_spread=none dtype=bf16"]
MXFP8 = [f"mxfp8 rows={rows} cols={cols}" + ("" if experts == 1 else f" experts={experts}") +
         ("" if direction == "row" else f" direction={direction}")
         for rows, cols, experts in ((8192, 5120, 1), (16384, 16384, 1), (131072, 7168, 1), (7168, 2048, 8), (8192, 5120, 8),
                                     (8192, 5120, 32)) for direction in ("row", "col", "both")]
FAMILIES = {"gather": gather, "pointwise": pointwise, "mxfp8": mxfp8}


def check_mxfp8():
    """Both peers must make the same bits."""
    for direction in ("row", "col", "both"):
        for mode in ("rceil", "floor"):
            x = torch.randn(2, 96, 160, device="cuda", dtype=torch.bfloat16) * 1000
            pairs = zip(mx_eager(direction, mode, "plain")(x), mx_triton(direction, mode)(x), strict=True)
            for a, b in pairs:
                assert torch.equal(a.view(torch.uint8), b.view(torch.uint8)), (direction, mode)


def measure(problem):
    family, *settings = problem.split()
    try:
        peers, operands, nbytes = FAMILIES[family](**dict(setting.split("=", 1) for setting in settings))
    except (KeyError, TypeError, ValueError) as error:
        print(json.dumps({"problem": problem, "peer": None, "error": f"no peer for {error}"}), flush=True)
        return
    for peer, call in peers.items():
        report(problem, peer, call, operands, nbytes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    problems = GATHERS + POINTWISE + MXFP8
    if arguments.file:
        with open(arguments.file, encoding="utf-8") as lines:
            problems = [row["problem"] for row in map(json.loads, lines) if row.get("problem")]
    problems = [problem for problem in problems if arguments.only in problem]
    if any(problem.startswith("mxfp8 ") for problem in problems):
        check_mxfp8()
    for problem in problems:
        measure(problem)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
