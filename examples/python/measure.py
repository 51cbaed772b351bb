"""Time and memory of the examples, forward and backward, beside eager PyTorch, as rows of a Markdown table.

    python examples/python/measure.py             on a GPU
    QUERN_DEVICE=host python examples/python/measure.py --small

Time: the median of runs. Memory: the most that PyTorch's allocator had in a run beyond the inputs.
"""
import argparse
import statistics
import time

import llama_block
import moe_layer
import torch

DEVICE = moe_layer.DEVICE


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def peak_mb(run):
    if DEVICE != "cuda":
        return "-"
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    synchronize()
    return f"{(torch.cuda.max_memory_allocated() - before) / 2**20:.0f}"


def milliseconds(run, count):
    times = []
    for _ in range(count):
        synchronize()
        start = time.perf_counter()
        run()
        synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def row(what, layer, inputs, settings, count):
    gradient = torch.randn_like(inputs[0])

    def run():
        torch.autograd.grad(layer(*inputs, *settings), inputs, gradient)

    run()  # compiles
    run()
    print(f"| {what} | {layer.__name__} | {milliseconds(run, count):.2f} | {peak_mb(run)} |", flush=True)


def numbers(*shape):
    return (torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16) / shape[-2] ** 0.5).requires_grad_()


def moe(tokens, hidden, inner, experts, topk, count):
    inputs = [numbers(*s) for s in ((tokens, hidden), (hidden, experts), (experts, hidden, 2 * inner), (experts, inner, hidden))]
    what = f"MoE layer, {tokens} tokens of {hidden}, {experts} experts of {inner}, {topk} of them a token"
    for layer in (moe_layer.with_quern, moe_layer.in_eager):
        row(what, layer, inputs, (topk,), count)


def llama(batch, seq, hidden, heads, inner, count):
    inputs = [numbers(*s) for s in ((batch, seq, hidden), (hidden, 3 * hidden), (hidden, hidden), (hidden, 2 * inner), (inner, hidden))]
    what = f"Llama block, {batch} x {seq} tokens of {hidden}, {heads} heads, {inner} inside"
    for block in (llama_block.with_quern, llama_block.in_eager):
        row(what, block, inputs, (heads,), count)


def main(small=False):
    torch.manual_seed(0)
    print("| example | | ms | MB |\n|---|---|---:|---:|")
    if small:
        moe(64, 64, 96, 4, 2, 1)
        llama(2, 16, 64, 4, 96, 1)
    else:
        moe(8192, 2048, 1408, 16, 2, 20)
        llama(2, 4096, 4096, 32, 14336, 20)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes, one run")
    main(parser.parse_args().small)
