#!/usr/bin/env python3
"""Whether `rounding=torch` has the very bits of PyTorch's eager operators: act(x + 0.5 * y + bias) for each activation
that PyTorch has, in each type, on data with infinities, NaNs, denormals and large values.

usage: torch_exact.py QUERN_BINARY"""
import os
import subprocess
import sys
import tempfile

import numpy
import torch
import torch.nn.functional as F

ROWS, WIDTH = 257, 1023
ACTIVATIONS = {
    "identity": lambda z: z, "relu": torch.relu, "gelu": F.gelu,
    "gelu_tanh": lambda z: F.gelu(z, approximate="tanh"), "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "elu": F.elu, "leaky_relu": F.leaky_relu, "mish": F.mish, "softplus": F.softplus, "hardswish": F.hardswish,
    "exp": torch.exp, "abs": torch.abs, "sin": torch.sin, "cos": torch.cos,
}
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
WILD = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, -1e-7, 65504.0, -88.0, 3e38, 20.0, -20.0]


def data(*shape):
    x = torch.randn(*shape, device="cuda") * 4
    wild = torch.tensor(WILD, device="cuda")[torch.randint(len(WILD), shape, device="cuda")]
    return torch.where(torch.rand(*shape, device="cuda") < 0.05, wild, x)


def save(folder, name, tensor):
    tensor = tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor
    numpy.save(os.path.join(folder, name), tensor.cpu().numpy())


def ours(quern, folder, activation, kind):
    out = os.path.join(folder, "out.npy")
    files = [f"--in={n}={os.path.join(folder, n)}.npy" for n in ("x", "y", "bias")]
    problem = [f"rows={ROWS}", f"width={WIDTH}", "op=add_mul_act", f"dtype={kind}", f"activation={activation}"]
    subprocess.run([quern, "run", "pointwise", *problem, "rounding=torch", "multiplier=0.5", *files, f"--out=out={out}"],
                   check=True, stdout=subprocess.DEVNULL)
    got = torch.from_numpy(numpy.load(out)).cuda()
    return got.view(torch.bfloat16) if kind == "bf16" else got


def main():
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, dtype in TYPES.items():
            x, y, bias = data(ROWS, WIDTH).to(dtype), data(ROWS, WIDTH).to(dtype), data(WIDTH).to(dtype)
            for name, tensor in (("x", x), ("y", y), ("bias", bias)):
                save(folder, name, tensor)
            for activation, act in ACTIVATIONS.items():
                expected, got = act(x + 0.5 * y + bias), ours(sys.argv[1], folder, activation, kind)
                same = (expected == got) | (expected.isnan() & got.isnan())
                signs = torch.signbit(expected) == torch.signbit(got)
                wrong = int((~(same & (signs | expected.isnan()))).sum())
                differing += wrong != 0
                where = "" if wrong == 0 else f", e.g. z={(x + 0.5 * y + bias)[~same][:3].tolist()}"
                print(f"{activation} {kind}: {wrong} of {expected.numel()} differ{where}", flush=True)
    print(f"{len(TYPES) * len(ACTIVATIONS) - differing} passed, {differing} failed")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
