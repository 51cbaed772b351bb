#!/usr/bin/env python3
"""Host time of a small gather from Python, each way in turn, beside `quern bench gather --host` before and after: nanoseconds
of a call, the median of rounds of 200 calls with one synchronization after each round. One JSON line a row. Needs torch,
and quern installed.

usage: python_host.py [--rounds N]"""
import argparse
import ctypes
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch

import quern
import quern.torch  # noqa: F401: torch.ops.quern

CALLS = 200

# Launches in a row of a kernel that does nothing, without Python between them.
BARE = """
typedef int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int loop(launch call, void* kernel, void* stream, int count) {
  void *a = 0, *b = 0, *c = 0, *parameters[] = {&a, &b, &c};
  int failed = 0;
  for (int i = 0; i < count; ++i) failed |= call(kernel, 1, 1, 1, 64, 1, 1, 0, stream, parameters, 0);
  return failed;
}
"""
KERNEL = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
"""


def bare_launches():
    """A function that makes CALLS bare launches in this process."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "bare.c")
        source.write_text(BARE)
        library = source.with_suffix(".so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
        loop, cuda = ctypes.CDLL(str(library)).loop, ctypes.CDLL("libcuda.so.1")
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    torch.zeros(1, device="cuda")
    failed = cuda.cuModuleLoadData(ctypes.byref(module), KERNEL)
    failed = failed or cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"nothing")
    if failed:
        raise RuntimeError(f"the driver refused the empty kernel: {failed}")
    launch = ctypes.cast(cuda.cuLaunchKernel, ctypes.c_void_p)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def run():
        failed = loop(launch, kernel, stream, CALLS)
        if failed:
            raise RuntimeError(f"the driver refused a launch: {failed}")

    return run


def ways():
    x = torch.randn(64, 64, device="cuda")
    index = torch.randperm(64, device="cuda").int()
    wide = index.long()
    y = torch.empty_like(x)
    scale = torch.rand(64, device="cuda")
    launch = quern.prepare("gather width=64 dtype=f32 index=i32").launch
    scaled = quern.prepare("gather width=64 dtype=f32 index=i32 scale=f32").launch
    op, op_out = torch.ops.quern.gather, torch.ops.quern.gather_out
    default = op.default
    return {
        "a Python function that does nothing": lambda: None,
        "plan.launch(x, i, y)": lambda: launch(x, index, y),
        "plan.launch(x, i, scale, y)": lambda: scaled(x, index, scale, y),
        "quern.gather(x, i, out=y)": lambda: quern.gather(x, index, out=y),
        "quern.gather(x, i)": lambda: quern.gather(x, index),
        "torch.ops.quern.gather(x, i)": lambda: op(x, index),
        "torch.ops.quern.gather.default(x, i)": lambda: default(x, index),
        "torch.ops.quern.gather_out(x, i, out=y)": lambda: op_out(x, index, out=y),
        "torch.empty": lambda: torch.empty(64, 64, device="cuda"),
        "torch.index_select": lambda: torch.index_select(x, 0, wide),
        "torch.index_select, out=y": lambda: torch.index_select(x, 0, wide, out=y),
        "x[i]": lambda: x[wide],
        "x.add_(1)": lambda: x.add_(1),
    }


def each(way):
    def run():
        for _ in range(CALLS):
            way()

    return run


def round_ns(run):
    start = time.perf_counter_ns()
    run()
    end = time.perf_counter_ns()
    torch.cuda.synchronize()
    return (end - start) / CALLS


def bench_host(when):
    lines = subprocess.run(
        [sys.executable, "-m", "quern", "bench", "gather", "--host", "--json"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for row in map(json.loads, lines):
        if row["what"] in ("bare launch", "plan launch"):
            print(json.dumps({"what": f"C++: {row['what']}", "ns": row["ns"], "when": when}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    bench_host("before")
    bare = bare_launches()
    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode():
            measured = {"bare launch": bare, **{what: each(way) for what, way in ways().items()}}
            times = {what: [] for what in measured}
            for _ in range(arguments.rounds):
                for what, way in measured.items():
                    times[what].append(round_ns(way))
            for what, ns in times.items():
                row = {"what": what, "ns": round(statistics.median(ns)), "least": round(min(ns)), "mode": mode.__name__}
                print(json.dumps(row), flush=True)
    bench_host("after")


if __name__ == "__main__":
    main()
