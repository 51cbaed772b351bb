#!/usr/bin/env python3
"""Whether `rounding=torch` has the very bits of PyTorch's eager operators, on data with infinities, NaNs, denormals and
large values:

- pointwise: act(x + 0.5 * y + bias), for each activation that PyTorch has, in each type;
- glu: act(a) * gate(g), out and gradients, for each layout, gating and activation of vLLM's exact tests, with and
  without a bias and a factor for each row.

usage: torch_exact.py [pointwise] [glu]        with the Python package: PYTHONPATH=FOLDER

It runs on a GPU, or with QUERN_DEVICE=host on the CPU. There PyTorch has other functions than on the GPU: what is made of
exp, tanh, erf and the like is only counted, and a zero of relu, which keeps the sign of -0 there, may have either sign. Only
counted are also gradients that quern promises no bits of: the families' README.md has which.
"""
import sys

import torch
import torch.nn.functional as F

import quern

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
WILD = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, -1e-7, 65504.0, -88.0, 3e38, 20.0, -20.0]


def data(*shape):
    x = torch.randn(*shape, device=DEVICE) * 4
    wild = torch.tensor(WILD, device=DEVICE)[torch.randint(len(WILD), shape, device=DEVICE)]
    return torch.where(torch.rand(*shape, device=DEVICE) < 0.05, wild, x)


class Tally:
    """Counts comparisons; `promised`: whether a difference is a failure."""

    def __init__(self):
        self.passed, self.failed, self.counted, self.different = 0, 0, 0, 0

    def compare(self, name, expected, got, promised, inputs=None):
        signs = (torch.signbit(expected) == torch.signbit(got)) | (" relu" in name and DEVICE == "cpu") & (expected == 0)
        same = (expected == got) & signs | (expected.isnan() & got.isnan())
        wrong = int((~same).sum())
        if not promised:
            self.counted += 1
            self.different += wrong != 0
        else:
            self.passed += wrong == 0
            self.failed += wrong != 0
        if wrong != 0:
            where = "" if inputs is None else f", e.g. of {inputs[~same][:3].tolist()}"
            word = "FAILED" if promised else "counted"
            print(f"{word} {name}: {wrong} of {expected.numel()} differ{where}", flush=True)

    def end(self):
        counted = f"{self.counted} are only counted, {self.different} of these differ"
        print(f"{self.passed} passed, {self.failed} failed; {counted}")
        return 1 if self.failed else 0


# ---- pointwise

POINTWISE = {
    "identity": lambda z: z, "relu": torch.relu, "gelu": F.gelu,
    "gelu_tanh": lambda z: F.gelu(z, approximate="tanh"), "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "elu": F.elu, "leaky_relu": F.leaky_relu, "mish": F.mish, "softplus": F.softplus, "hardswish": F.hardswish,
    "exp": torch.exp, "abs": torch.abs, "sin": torch.sin, "cos": torch.cos,
}
WITHOUT_FUNCTIONS = ("identity", "relu", "leaky_relu", "abs", "fatrelu")


def pointwise(tally):
    rows, width = 257, 1023
    for kind, dtype in TYPES.items():
        x, y, bias = data(rows, width).to(dtype), data(rows, width).to(dtype), data(width).to(dtype)
        z = x + 0.5 * y + bias
        for activation, act in POINTWISE.items():
            got = quern.pointwise(x, y, bias, op="add_mul_act", activation=activation, rounding="torch", multiplier=0.5)
            promised = DEVICE == "cuda" or activation in WITHOUT_FUNCTIONS
            tally.compare(f"pointwise {activation} {kind}", act(z), got, promised, z)


# ---- glu

BLOCK = 32
LIMIT, OFFSET, THRESHOLD, ALPHA = 7.0, 1.0, 0.5, 1.702


def parts(x, layout):
    """The activation's argument and the gate, as views: of x, or of the two operands of `split`."""
    if layout == "split":
        return x
    if layout == "interleaved":
        return x[..., 0::2], x[..., 1::2]
    if layout == "blocks":
        blocks = x.unflatten(-1, (-1, 2, BLOCK))
        return blocks[..., 0, :].flatten(-2), blocks[..., 1, :].flatten(-2)
    first, second = x.chunk(2, dim=-1)
    return (second, first) if layout == "swapped" else (first, second)


def qgelu(a):
    return a * torch.sigmoid(a * ALPHA)


# By name: fields and numbers of quern, act(a), and whether the gradient of a has PyTorch's bits. That of another
# activation is one function of a, where autograd's has roundings of its own.
KINDS = {
    "silu": ({}, F.silu, False),
    "gelu": ({}, F.gelu, False),
    "gelu_tanh": ({}, lambda a: F.gelu(a, approximate="tanh"), True),
    "relu": ({}, torch.relu, True),
    "sigmoid": ({}, torch.sigmoid, False),
    "fatrelu": ({"alpha": THRESHOLD}, lambda a: F.threshold(a, THRESHOLD, 0.0), True),
    "silu clamped": ({"gating": "clamped"}, F.silu, False),
    "gelu_tanh clamped": ({"gating": "clamped"}, lambda a: F.gelu(a, approximate="tanh"), True),
    "relu clamped": ({"gating": "clamped"}, torch.relu, True),
    "qgelu clamped": ({"gating": "clamped"}, qgelu, False),
}
# PyTorch has no operator of these; gpt-oss's formula rounds sigmoid's argument and result, too.
WITHOUT_OPERATOR = ("qgelu",)


class Gated:
    """A glu problem and its eager twin, on the same tensors."""

    def __init__(self, kind, layout, dtype, extras):
        rows, width = 61, 416
        self.kind, self.layout, self.extras = kind, layout, extras
        count = 1 if layout == "split" else 2
        self.x = data(rows, count * width).to(dtype)
        self.gate = data(rows, width).to(dtype) if layout == "split" else None
        self.gradient = data(rows, width).to(dtype)
        self.bias = torch.randn(2 * width, device=DEVICE).to(dtype) if extras else None
        self.scale = torch.randn(rows, device=DEVICE).to(dtype) if extras else None

    def eager(self):
        """out, and the gradients of a and g, of what act and the gate are applied to."""
        x = self.x if self.gate is None else (self.x, self.gate)
        bias = self.bias
        if bias is not None:
            of_parts = bias.chunk(2) if self.layout == "split" else parts(bias, self.layout)
        a, g = parts(x, self.layout)
        if bias is not None:
            a, g = a + of_parts[0], g + of_parts[1]
        a, g = a.detach().clone().requires_grad_(), g.detach().clone().requires_grad_()
        settings, act, _ = KINDS[self.kind]
        if "gating" in settings:
            out = act(a.clamp(max=LIMIT)) * (g.clamp(-LIMIT, LIMIT) + OFFSET)
        else:
            out = act(a) * g
        if self.scale is not None:
            out = out * self.scale[:, None]
        return a.detach(), out.detach(), torch.autograd.grad(out, (a, g), self.gradient)

    def settings(self):
        fields = dict(KINDS[self.kind][0], activation=self.kind.split()[0], layout=self.layout, rounding="torch")
        given = {"gate": self.gate, "bias": self.bias, "scale": self.scale}
        fields.update({name: tensor for name, tensor in given.items() if tensor is not None})
        return dict(fields, block=BLOCK) if self.layout == "blocks" else fields

    def out(self):
        return quern.glu(self.x, **self.settings())

    def gradients(self):
        made = quern.glu(self.x, gradient=self.gradient, pass_="backward", **self.settings())
        made = [made] if isinstance(made, torch.Tensor) else list(made)
        return parts(tuple(made[:2]) if self.layout == "split" else made[0], self.layout)


def comparable(kind, a):
    """Where the gradient of a has a value that both define alike: PyTorch's relu passes a gradient at NaN, and its
    gelu_tanh has NaN where the square of a overflows."""
    good = ~a.isnan()
    return good & (a.float().abs() < 1e18) if "gelu_tanh" in kind else good


def glu(tally):
    for kind, (_, _, has_slope) in KINDS.items():
        activation = kind.split()[0]
        on_cpu = DEVICE == "cpu" and activation not in WITHOUT_FUNCTIONS
        promised = not on_cpu and activation not in WITHOUT_OPERATOR
        for layout in ("halves", "swapped", "interleaved", "blocks", "split"):
            for extras in (False, True):
                for name in ("f16", "bf16"):
                    twin = Gated(kind, layout, TYPES[name], extras)
                    a, out, (of_a, of_g) = twin.eager()
                    made_a, made_g = twin.gradients()
                    text = f"glu {kind} {layout} {name}{' with bias and scale' if extras else ''}"
                    tally.compare(text, out, twin.out(), promised, a)
                    tally.compare(f"{text}: gradient of g", of_g, made_g, promised, a)
                    good = comparable(kind, a)
                    tally.compare(f"{text}: gradient of a", of_a[good], made_a[good], promised and has_slope, a[good])


def main():
    families = {"pointwise": pointwise, "glu": glu}
    names = sys.argv[1:] or list(families)
    if unknown := [name for name in names if name not in families]:
        sys.exit(f"no family {unknown[0]} here: give pointwise, glu or none for both")
    torch.manual_seed(0)
    tally = Tally()
    for name in names:
        families[name](tally)
    sys.exit(tally.end())


if __name__ == "__main__":
    main()
