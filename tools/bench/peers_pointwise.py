"""Peers of `pointwise`: the formula in PyTorch, compiled and not, and a Triton kernel of the most common one."""
import functools

import torch
import triton
import triton.language as tl

import programs
from peers_data import TYPES, compiled, only_pass, random
from peers_timing import sets_for


@triton.jit
def relu_multiply_add(x, y, bias, out, count, width, multiplier, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    z = tl.load(x + at, inside) + multiplier * tl.load(y + at, inside) + tl.load(bias + at % width, inside)
    tl.store(out + at, tl.maximum(z, 0.0), inside)


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


def gradients(activation, multiply_add, bias, of_bias, of_multiplier):
    """By autograd, as a training step has them; PyTorch's compiler fuses what it can."""
    act = pointwise_eager(activation, multiply_add, bias)

    def backward(x, y, b, gradient):
        x = x.detach().requires_grad_()
        y = y.detach().requires_grad_() if multiply_add else None
        with torch.enable_grad():
            out = act(x, y, b)
        made = torch.autograd.grad(out, [x, y] if multiply_add else [x], gradient)
        results = list(made)
        if of_bias:
            results.append(made[0].float().sum(0))
        if of_multiplier:
            results.append((made[0].float() * y.detach().float()).sum())
        return results

    return backward


def pointwise_gradients(rows, width, kind, op, activation, bias, of_bias, of_multiplier):
    multiply_add = op == "add_mul_act"
    nbytes = (5 if multiply_add else 3) * rows * width * kind.itemsize
    operands = [(random(kind, rows, width), random(kind, rows, width) if multiply_add else None, random(kind, width),
                 random(kind, rows, width)) for _ in range(sets_for(nbytes))]
    eager = gradients(activation, multiply_add, bias, of_bias, of_multiplier)
    return {"torch eager": eager, "torch.compile": torch.compile(eager, dynamic=False)}, operands, nbytes


def operand(name, declared, rows, width, dtype):
    """Of a program: a tensor of its kind and type."""
    own, kind = declared.get(name, ("", ""))
    shape = {"row": (width,), "column": (rows,), "scalar": (1,)}.get(kind, (rows, width))
    return 1.0 if kind == "number" else torch.randn(*shape, device="cuda").to(programs.TYPES[own or dtype])


def program_peers(rows, width, dtype, expr, scaling, mode):
    declared = programs.declared(expr)[1]
    names, function = programs.as_torch(expr, dtype, scaling, mode)
    call = functools.partial(function, rows=rows, width=width)
    make = lambda: [operand(name, declared, rows, width, dtype) for name in names]  # noqa: E731
    first = make()
    results = call(*first)
    nbytes = sum(t.numel() * t.element_size() for t in [*first, *results] if isinstance(t, torch.Tensor))
    operands = [first] + [make() for _ in range(sets_for(nbytes) - 1)]
    return {"torch eager": call, "torch.compile": compiled(call)}, operands, nbytes


def pointwise(rows, width=4096, dtype="bf16", op="bias_act", activation="relu", bias_spread="row", bias_gradient="none",
              multiplier_gradient="none", expr="", scaling="none", mode="rceil", **rest):
    if expr:
        if rest:
            raise ValueError(f"no peer has {', '.join(rest)}")
        return program_peers(int(rows), int(width), dtype, expr, scaling, mode)
    rows, width, kind, multiply_add = int(rows), int(width), TYPES[dtype], op == "add_mul_act"
    if bias_spread not in ("row", "none"):
        raise ValueError(f"bias_spread={bias_spread}")
    if only_pass(rest) == "backward":
        return pointwise_gradients(rows, width, kind, op, activation, bias_spread == "row", bias_gradient != "none",
                                   multiplier_gradient != "none")
    nbytes = (3 if multiply_add else 2) * rows * width * kind.itemsize
    operands = [(random(kind, rows, width), random(kind, rows, width) if multiply_add else None, random(kind, width))
                for _ in range(sets_for(nbytes))]
    return pointwise_peers(activation, multiply_add, bias_spread == "row"), operands, nbytes


PROBLEMS = [f"pointwise rows={4 ** i} width={2 << i} op=add_mul_act dtype=f32" for i in range(1, 10)] + [
    "pointwise rows=262144 width=1024 op=add_mul_act dtype=bf16",
    "pointwise rows=262144 width=1024 op=add_mul_act activation=gelu dtype=bf16",
    "pointwise rows=65536 width=4096 activation=silu dtype=bf16",
    "pointwise rows=65536 width=4097 activation=silu dtype=bf16",
    "pointwise rows=65536 width=4096 activation=identity bias_spread=none dtype=bf16"]
