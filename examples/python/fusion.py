"""Formulas of one's own in one kernel each, with their gradients, beside eager PyTorch: the chain act(x + m * y + b) in place, the
epilogue of a layer with LoRA, an RMS norm of a sum with a residual, and one whose result is quantized to MXFP8.

    python examples/python/fusion.py         on a GPU
    QUERN_DEVICE=host python examples/python/fusion.py
"""
import os

import torch
import torch.nn.functional as F

import quern
import quern.torch as qt

DEVICE = "cpu" if os.environ.get("QUERN_DEVICE") == "host" else "cuda"

# x keeps its memory: the output has its name, and `out=` gives it.
chain = quern.fuse("m: number; x = relu(x + m * y + b)")
lora = qt.fuse("alpha: number; out = gelu(base + alpha * update + bias)")
# The sum is the next residual.
norm = qt.fuse("let s = x + residual; sum = s; out = s * rsqrt(mean(s * s) + const 1e-6) * weight")
# Elements, and a power of two for each 32 of them.
mx_norm = quern.fuse("out: e4m3; out = x * rsqrt(mean(x * x) + const 1e-6) * weight", scaling="mx")


def report(name, got, expected):
    print(f"{name:10} differs by at most {(got - expected).abs().max().item():.1e} of {expected.abs().max().item():.1f}")
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


def in_place(rows, width):
    x, y, b = torch.randn(rows, width, device=DEVICE), torch.randn(rows, width, device=DEVICE), torch.randn(width, device=DEVICE)
    expected = torch.relu(x - 0.5 * y + b)
    chain(x=x, m=-0.5, y=y, b=b, out=x)
    report("chain", x, expected)


def in_mxfp8(rows, width):
    x, weight = torch.randn(rows, width, device=DEVICE), torch.randn(width, device=DEVICE)
    expected = F.rms_norm(x, (width,), weight, 1e-6)
    out, scales = mx_norm(x=x, weight=weight)
    numbers = out.float() * scales.float().repeat_interleave(32, -1)[:, :width]
    steps = (numbers - expected).abs() / expected.abs().clamp_min(expected.abs().max() / 256)
    print(f"mx norm    differs by at most {steps.max().item():.1%}: e4m3 has three bits after the first")
    assert out.dtype == torch.float8_e4m3fn and scales.dtype == torch.float8_e8m0fnu and steps.max() <= 1 / 16


def compared(names, fused, eager, inputs, **numbers):
    """Results and gradients of both."""
    results = []
    for function in (fused, eager):
        leaves = [t.clone().requires_grad_() for t in inputs.values()]
        made = function(**dict(zip(inputs, leaves)), **numbers)
        made = made if isinstance(made, tuple) else (made,)
        gradients = torch.autograd.grad(made, leaves, [torch.cos(t.detach()) for t in made])
        results.append([*made, *gradients])
    for name, a, b in zip((*names, *(f"d {name}" for name in inputs)), *results):
        report(name, a, b)


def eager_lora(base, update, bias, alpha):
    return F.gelu(base + alpha * update + bias)


def eager_norm(x, residual, weight):
    s = x + residual
    return s, s * torch.rsqrt(s.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def main(rows=24, width=200):
    torch.manual_seed(0)
    in_place(rows, width)
    in_mxfp8(rows, width)
    full = lambda: torch.randn(rows, width, device=DEVICE)  # noqa: E731
    compared(["lora"], lora, eager_lora, {"base": full(), "update": full(), "bias": torch.randn(width, device=DEVICE)}, alpha=0.25)
    compared(["sum", "norm"], norm, eager_norm, {"x": full(), "residual": full(), "weight": torch.randn(width, device=DEVICE)})


if __name__ == "__main__":
    main()
