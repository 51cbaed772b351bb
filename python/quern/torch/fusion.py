"""Functions of tensors from formulas, with their gradients: quern.torch.fuse("out = relu(x + m * y + b)")."""
from typing import Optional, Sequence, Union

import torch

from quern import _fuse

_ops = torch.ops.quern


@torch.compiler.assume_constant_result
def _specialized(text, dtypes, kinds):
    """A constant of what torch.compile makes, which traces no C++."""
    return _fuse.specialized(text, dtypes, kinds)


class Fused(_fuse.Fused):
    """quern.fuse's function of PyTorch's tensors, with gradients of all orders, in eager mode and under torch.compile.

    Inputs are given by name, or by position in the order of `inputs`, and broadcast as in PyTorch: a row [width], a
    column [..., 1] or one element beside full ones [..., width]. A number has no gradient; give a tensor of one element
    where it is to have one, and under torch.compile where its value changes from call to call.
    """

    _specialized = staticmethod(_specialized)

    def __repr__(self):
        return f"quern.torch.fuse({self._described_as()})"

    def _found(self, values):
        if torch.compiler.is_compiling():
            return self._find(values)
        try:
            return super()._found(values)
        except TypeError:  # sizes that are symbols, which no table of known calls can hold
            return self._find(values)

    def __call__(self, /, *values, **named):
        values = self._bound(values, named)
        settings, tensors, numbers, shapes = self._found(values)
        if not tensors:
            raise TypeError("no input is a tensor, so there is no device; give one as a tensor, or make the program's value with torch.full")
        given = {name: float(values[place]) for name, place in numbers}
        return _fuse.results(_ops.pointwise_program([values[place] for place in tensors], **given, **settings), shapes)


def fuse(
    program: str,
    scaling: Optional[str] = None,
    mode: Optional[str] = None,
    policy: Optional[str] = None,
    scale_layout: Optional[str] = None,
    save: Union[str, Sequence[str]] = (),
) -> Fused:
    """A differentiable function of tensors that computes a program, "out = relu(x + m * y + b)", in one kernel.
    docs/expressions.md has its language.

    scaling, mode, policy, scale_layout: as quern.fuse takes them. What is quantized has no gradient.
    save: an output, or several, that the backward pass reads, which keeps them in memory: save="y" of "y = exp(x)" keeps y,
    not x. Else it keeps inputs, and computes the values again."""
    return Fused(program, save, scaling=scaling, mode=mode, policy=policy, scale_layout=scale_layout)
