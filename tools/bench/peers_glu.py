"""Peers of `glu`: the formulas in PyTorch, compiled and not, and Triton kernels of the most common ones."""
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from peers_data import TYPES, compiled, only_pass, random
from peers_pointwise import ACTIVATIONS
from peers_timing import sets_for


def qgelu(x):
    return x * torch.sigmoid(1.702 * x)


VALUES = dict(ACTIVATIONS, qgelu=qgelu)


def parts(x, layout):
    """The activation's argument and the gate, as views."""
    half = x.shape[1] // 2
    if layout == "interleaved":
        return x[:, 0::2], x[:, 1::2]
    return (x[:, half:], x[:, :half]) if layout == "swapped" else (x[:, :half], x[:, half:])


def whole(a, g, layout):
    """Their inverse."""
    if layout == "interleaved":
        return torch.stack((a, g), dim=2).flatten(1)
    return torch.cat((g, a) if layout == "swapped" else (a, g), dim=1)


def gated(activation, layout, clamped):
    act = VALUES[activation]

    def forward(x):
        a, g = parts(x, layout)
        return act(a.clamp(max=7.0)) * (g.clamp(-7.0, 7.0) + 1.0) if clamped else act(a) * g

    return forward


def slope(activation, x):
    if activation == "silu":
        s = torch.sigmoid(x)
        return s * (1 + x * (1 - s))
    if activation == "gelu":
        return 0.5 * (1 + torch.erf(x * 0.70710678)) + x * 0.39894228 * torch.exp(-0.5 * x * x)
    t = torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
    return 0.5 * x * (1 - t * t) * (0.79788456 + 0.1070322243 * x * x) + 0.5 * (1 + t)


def gradients(activation, layout, recompute, bias_gradient, scale):
    """In fp32, rounded at the end, as torch.compile fuses eager operators."""
    act = VALUES[activation]

    def backward(x, gradient, factor):
        a, g = (part.float() for part in parts(x, layout))
        d = gradient.float() * factor[:, None] if scale else gradient.float()
        value = act(a)
        made = whole(d * g * slope(activation, a), d * value, layout)
        results = [made.to(x.dtype)]
        if recompute:
            results.append((value * g).to(x.dtype))
        if bias_gradient:
            results.append(made.sum(0))
        if scale:
            results.append((gradient.float() * value * g).sum(1))
        return results

    return backward


@triton.jit
def activated(x, NAME: tl.constexpr):
    if NAME == "silu":
        return x * tl.sigmoid(x)
    if NAME == "gelu":
        return 0.5 * x * (1 + libdevice.erf(x * 0.70710678))
    return 0.5 * x * (1 + libdevice.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


@triton.jit
def activated_slope(x, NAME: tl.constexpr):
    if NAME == "silu":
        s = tl.sigmoid(x)
        return s * (1 + x * (1 - s))
    if NAME == "gelu":
        return 0.5 * (1 + libdevice.erf(x * 0.70710678)) + x * 0.39894228 * tl.exp(-0.5 * x * x)
    t = libdevice.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
    return 0.5 * x * (1 - t * t) * (0.79788456 + 0.1070322243 * x * x) + 0.5 * (1 + t)


@triton.jit
def halves_forward(x, out, width, NAME: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    a = tl.load(x + row * 2 * width + at, inside).to(tl.float32)
    g = tl.load(x + row * 2 * width + width + at, inside).to(tl.float32)
    tl.store(out + row * width + at, activated(a, NAME) * g, inside)


@triton.jit
def halves_backward(x, gradient, made, out, width, NAME: tl.constexpr, RECOMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    a = tl.load(x + row * 2 * width + at, inside).to(tl.float32)
    g = tl.load(x + row * 2 * width + width + at, inside).to(tl.float32)
    d = tl.load(gradient + row * width + at, inside).to(tl.float32)
    value = activated(a, NAME)
    tl.store(made + row * 2 * width + at, d * g * activated_slope(a, NAME), inside)
    tl.store(made + row * 2 * width + width + at, d * value, inside)
    if RECOMPUTE:
        tl.store(out + row * width + at, value * g, inside)


def grid_of(rows, width):
    block = min(1024, triton.next_power_of_2(width))
    return (rows, triton.cdiv(width, block)), block


def triton_forward(activation):

    def call(x):
        rows, width = x.shape[0], x.shape[1] // 2
        out = torch.empty(rows, width, dtype=x.dtype, device=x.device)
        grid, block = grid_of(rows, width)
        halves_forward[grid](x, out, width, activation, block)
        return out

    return call


def triton_backward(activation, recompute):

    def call(x, gradient, factor):
        rows, width = gradient.shape
        made = torch.empty_like(x)
        out = torch.empty_like(gradient) if recompute else made
        grid, block = grid_of(rows, width)
        halves_backward[grid](x, gradient, made, out, width, activation, recompute, block)
        return [made, out] if recompute else [made]

    return call


TRITON = ("silu", "gelu", "gelu_tanh")


def quantized(activation, layout, clamped, scaling):
    """To e4m3: with a given scale, one for each row, or for 128 numbers (fp32), or for 32 (a power of two)."""
    forward = gated(activation, layout, clamped)
    length = {"block128": 128, "mx": 32}.get(scaling)

    def call(x, given):
        out = forward(x).float()
        if scaling == "tensor":
            return [(out * (1 / given)).clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)]
        blocks = out if length is None else out.view(out.shape[0], -1, length)
        scale = blocks.abs().amax(-1, keepdim=True).clamp(min=2**-126) / 448
        if scaling == "mx":
            scale = torch.exp2(torch.ceil(torch.log2(scale)))
        return [(blocks / scale).to(torch.float8_e4m3fn).view(torch.uint8).view(out.shape), scale.squeeze(-1)]

    return call


def forward_peers(activation, layout, clamped):
    eager = gated(activation, layout, clamped)
    peers = {"torch eager": eager, "torch.compile": compiled(eager)}
    if activation in TRITON and layout == "halves" and not clamped:
        peers["Triton"] = triton_forward(activation)
    return peers


def backward_peers(activation, layout, recompute, bias_gradient, scale):
    if activation not in TRITON:
        raise ValueError(f"activation={activation} pass=backward")
    eager = gradients(activation, layout, recompute, bias_gradient, scale)
    peers = {"torch eager": eager, "torch.compile": compiled(eager)}
    if layout == "halves" and not bias_gradient and not scale:
        peers["Triton"] = triton_backward(activation, recompute)
    return peers


def glu(rows, width=4096, dtype="bf16", activation="silu", gating="product", layout="halves", recompute="none", bias="none",
        bias_gradient="none", scale="none", scaling="none", **rest):
    backward = only_pass(rest) == "backward"
    if layout not in ("halves", "swapped", "interleaved") or gating == "tanh":
        raise ValueError(f"layout={layout} gating={gating}")
    rows, width, kind = int(rows), int(width), TYPES[dtype]
    summed, scaled = bias_gradient != "none", scale != "none"
    if scaling != "none":
        if backward or bias != "none" or scaled:
            raise ValueError(f"scaling={scaling} pass=backward, bias or scale")
        nbytes = (2 * kind.itemsize + 1) * rows * width
        operands = [(random(kind, rows, 2 * width), torch.full((), 0.01, device="cuda")) for _ in range(sets_for(nbytes))]
        eager = quantized(activation, layout, gating == "clamped", scaling)
        return {"torch eager": eager, "torch.compile": compiled(eager)}, operands, nbytes
    if not backward:
        if bias != "none" or scaled:
            raise ValueError("bias or scale")
        nbytes = 3 * rows * width * kind.itemsize
        operands = [(random(kind, rows, 2 * width),) for _ in range(sets_for(nbytes))]
        return forward_peers(activation, layout, gating == "clamped"), operands, nbytes
    if gating != "product":
        raise ValueError(f"gating={gating} pass=backward")
    # A bias that was added before: as many bytes less to read than a row of x has.
    nbytes = (6 if recompute == "out" else 5) * rows * width * kind.itemsize
    operands = [(random(kind, rows, 2 * width), random(kind, rows, width), random(torch.float32, rows))
                for _ in range(sets_for(nbytes))]
    return backward_peers(activation, layout, recompute == "out", summed, scaled), operands, nbytes


CHECKS = [(f"glu rows=70 width=96 activation={activation} {rest}", 0.05)
          for activation in ("silu", "gelu", "gelu_tanh")
          for rest in ("", "layout=interleaved", "pass=backward recompute=out", "pass=backward bias_gradient=f32 scale=f32")]
