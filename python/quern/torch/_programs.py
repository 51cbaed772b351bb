"""Gradients of torch.ops.quern.pointwise_program: each is the program of the gradients, run by it again."""
import functools
import math

import torch

from quern import _fuse, _quern
from quern.torch._fake import _NAMES

_program = functools.lru_cache(maxsize=None)(_quern._program)


def _in_memory(inputs):
    return [(name, dtype, kind) for name, dtype, kind in inputs if kind != "number"]


def _numbers(inputs):
    return [name for name, _, kind in inputs if kind == "number"]


_MOST_LETTERS = 1000  # of a program that pointwise takes


def _gradient(call):
    """(forward, backward), the program and that of the gradients of the inputs that need one."""
    if call.settings.get("scaling", "none") != "none":
        raise ValueError(
            "what is quantized has no gradient: call the function under torch.no_grad(), or with inputs that require none; "
            "quern.fuse(program).gradient(...) has the gradients of the numbers before they are quantized"
        )
    forward = _program(call.settings["expr"])
    wanted = tuple(name for (name, _, _), needs in zip(_in_memory(forward[1]), call.each_needs) if needs)
    backward = _program(forward[0], wanted)
    if len(backward[0]) > _MOST_LETTERS:
        raise ValueError(
            f"the gradient by {', '.join(wanted)} is a program of {len(backward[0])} letters; one kernel takes {_MOST_LETTERS}: "
            "split the program into two, or let fewer inputs require a gradient"
        )
    return forward, backward


def reads(call):
    """The inputs of a call that its gradients read, "inputs.0" and so on."""
    forward, backward = _gradient(call)
    read = {name for name, _, _ in backward[1]}
    return {f"inputs.{i}" for i, (name, _, _) in enumerate(_in_memory(forward[1])) if name in read}


def keeps(call):
    """The places of the results that its gradients read: outputs that are saved."""
    forward, backward = _gradient(call)
    read = {name for name, _, _ in backward[1]} - {name for name, _, _ in forward[1]}
    return [i for i, (name, _, _) in enumerate(forward[2]) if name in read]


def _full_shape(forward, call):
    """Of what is full, [rows, width]."""
    operands = list(zip(_in_memory(forward[1]), call["inputs"])) + list(zip(forward[2], call.results))
    shapes = {kind: tuple(tensor.shape) for (_, _, kind), tensor in reversed(operands)}
    if "full" in shapes:
        return shapes["full"]
    rows = math.prod(shapes["column"]) if "column" in shapes else call.settings.get("rows", 1)
    return (rows, math.prod(shapes["row"]) if "row" in shapes else call.settings.get("width", 4096))  # the default


def _dtype(forward, call):
    """Of what the program gives no type."""
    if "dtype" in call.settings:
        return call.settings["dtype"]
    for (_, dtype, _), tensor in [*zip(_in_memory(forward[1]), call["inputs"]), *zip(forward[2], call.results)]:
        if dtype == "none":
            return _NAMES[tensor.dtype]
    return "bf16"


def _zeros(tensor, like):
    return torch.zeros(tensor.shape, dtype=tensor.dtype, device=like.device)


def _values(forward, call, given, like):
    """The tensors of a gradient program by name: the inputs, the outputs that are saved, and the outputs' gradients."""
    values = {name: tensor for (name, _, _), tensor in zip(forward[2], call.results)}
    values.update((name, tensor) for (name, _, _), tensor in zip(_in_memory(forward[1]), call["inputs"]))
    for (name, _, _), result, gradient in zip(forward[2], call.results, given):
        values[f"d_{name}"] = _zeros(result, like) if gradient is None else gradient.contiguous()
    return values


def gradients(call, given):
    """Of each input, None where it needs none. given: the gradients of the results."""
    forward, backward = _gradient(call)
    like = next(g for g in given if g is not None)
    values, operands = _values(forward, call, given, like), _in_memory(backward[1])
    if not operands:  # no result depends on an input
        return [_zeros(tensor, like) for tensor in call["inputs"]]
    numbers = {name: call.settings.get(f"number_{i}", 1.0) for i, name in enumerate(_numbers(forward[1]))}
    settings = {f"number_{i}": numbers[name] for i, name in enumerate(_numbers(backward[1]))}
    settings.update(_fuse.extents([kind for _, _, kind in operands], _full_shape(forward, call)))
    inputs = [values[name] for name, _, _ in operands]
    made = iter(torch.ops.quern.pointwise_program(inputs, expr=backward[0], dtype=_dtype(forward, call), **settings))
    return [next(made).reshape(t.shape) if needs else None for t, needs in zip(call["inputs"], call.each_needs)]
