#!/usr/bin/env python3
"""Host cost of other run-time compilers, to compare with `quern bench --host` and `--compile`: nanoseconds per launch of a
tiny kernel through their Python API (loops of calls, one synchronization at the end), and milliseconds to the first and
to a second kernel of a process, each in a separate process. One JSON line a row."""
import json
import statistics
import subprocess
import sys
import time

SOURCE = 'extern "C" __global__ void NAME(float* x, int n) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) x[i] += 1; }'


def torch_eager():
    import torch

    x = torch.zeros(64, device="cuda")
    return lambda name: None, lambda: x.add_(1.0), torch.cuda.synchronize


def torch_compile():
    import torch

    x, made = torch.zeros(64, device="cuda"), {}

    def make(name):
        torch._dynamo.reset()
        step = 1.0 if name == "first" else 2.0
        made["f"] = torch.compile(lambda t: t.add_(step), fullgraph=True)
        made["f"](x)

    return make, lambda: made["f"](x), torch.cuda.synchronize


def triton_jit():
    import torch
    import triton_kernels  # written by this run: Triton reads the source of a kernel from its file

    x, made = torch.zeros(64, device="cuda"), {}

    def make(name):
        made["k"] = getattr(triton_kernels, name)
        made["k"][(1,)](x, 64, BLOCK=64)

    return make, lambda: made["k"][(1,)](x, 64, BLOCK=64), torch.cuda.synchronize


def cupy_raw():
    import cupy

    x, made = cupy.zeros(64, dtype=cupy.float32), {}

    def make(name):
        made["k"] = cupy.RawKernel(SOURCE.replace("NAME", name), name)
        made["k"]((1,), (64,), (x, 64))

    return make, lambda: made["k"]((1,), (64,), (x, 64)), cupy.cuda.Device().synchronize


def cuda_core():
    import cupy
    import numpy

    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    stream, config, made = device.create_stream(), LaunchConfig(grid=1, block=64), {}
    x = cupy.zeros(64, dtype=cupy.float32)
    count = numpy.int32(64)

    def call():
        launch(stream, config, made["k"], x.data.ptr, count)

    def make(name):
        program = Program(SOURCE.replace("NAME", name), "c++", ProgramOptions(arch=f"sm_{device.arch}"))
        made["k"] = program.compile("cubin").get_kernel(name)
        call()

    return make, call, stream.sync


PEERS = {"torch eager add_": torch_eager, "torch.compile": torch_compile, "Triton": triton_jit,
         "CuPy RawKernel": cupy_raw, "cuda.core": cuda_core}
TRITON = """import triton
import triton.language as tl
""" + "".join(f"""
@triton.jit
def {name}(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) + {step}, at < n)
""" for name, step in (("first", 1), ("second", 2)))


def measure(peer):
    make, call, wait = PEERS[peer]()
    times = []
    for name in ("first", "second"):
        start = time.perf_counter()
        make(name)
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    blocks = []
    for _ in range(21):
        start = time.perf_counter()
        for _ in range(200):
            call()
        blocks.append((time.perf_counter() - start) * 1e9 / 200)
        wait()
    print(json.dumps({"peer": peer, "entry": "Python", "launch_ns": round(statistics.median(blocks)),
                      "first_ms": round(times[0], 1), "second_ms": round(times[1], 1)}), flush=True)


def main():
    if len(sys.argv) > 1:
        return measure(sys.argv[1])
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "triton_kernels.py"), "w") as file:
            file.write(TRITON)
        # Empty caches, so that every compile is a real one.
        environment = dict(os.environ, PYTHONPATH=folder, TRITON_CACHE_DIR=folder + "/triton",
                           TORCHINDUCTOR_CACHE_DIR=folder + "/inductor", CUPY_CACHE_DIR=folder + "/cupy")
        for peer in PEERS:
            done = subprocess.run([sys.executable, os.path.abspath(__file__), peer], env=environment, capture_output=True, text=True)
            print(done.stdout.strip() or json.dumps({"peer": peer, "error": done.stderr.strip()[-200:]}), flush=True)


if __name__ == "__main__":
    main()
