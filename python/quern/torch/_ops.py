"""torch.ops.quern.*: an operator for each family, and one that writes given results.

Their kernels are in C++ (python/src/torch_*.cpp), and _autograd.py's gradients above them in Python. A call where
gradients are not recorded runs _NAME instead, the same kernel with no Python above it.
"""
import torch
from torch._C import _has_torch_function, _is_tracing, _len_torch_function_stack, is_grad_enabled
from torch.autograd import forward_ad

from quern import _quern
from quern.torch import _fake
from quern.torch._schema import FAMILIES

library = torch.library.Library("quern", "DEF")

# Inputs that a forward does not read and its gradient does: an operator takes and saves them.
_FOR_GRADIENTS = {"moe_unpermute": "pads"}


def _named(family, tensors, settings):
    """Those that are given, by the operands' names. A list that is not given is empty."""
    named = zip([o["name"] for o in family.inputs], tensors)
    if settings.get("pass_", "forward") in (None, "forward"):
        named = [(name, value) for name, value in named if name != _FOR_GRADIENTS.get(family.name)]
    return {name: value for name, value in named if value is not None and not (isinstance(value, list) and not value)}


def _define(schema, fake):
    name = schema.split("(")[0]
    library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    torch.library.register_fake(f"quern::{name}", fake, lib=library)


def _is_plain(values):
    """Whether a call is one of tensors now: nobody records it under the operator's name, to run it later."""
    if is_grad_enabled() or _is_tracing() or torch.compiler.is_compiling() or _len_torch_function_stack():
        return False
    if forward_ad._current_level >= 0 or _has_torch_function(values):
        return False
    return not any(isinstance(v, (list, tuple)) and _has_torch_function(v) for v in values)


class _Packet(torch._ops.OpOverloadPacket):
    # torch.ops.quern.NAME. With PyTorch's own packet every call would go through autograd's kernel, which is Python.

    def __call__(self, /, *args, **kwargs):
        return (self.without_gradients if _is_plain((*args, *kwargs.values())) else self._op)(*args, **kwargs)


def _make(family):
    name, plain = family.name, f"_{family.name}"

    def fake(*tensors, **settings):
        given = {name: value for name, value in settings.items() if value is not None}
        made = _fake.results(family, _named(family, tensors, settings), given)
        return made[0] if family.returns_one else made

    _define(family.schema(), fake)
    _define(family.schema(plain), fake)
    _define(family.out_schema(), lambda *tensors, **settings: None)
    library.impl(plain, torch.library.fallthrough_kernel, "Autograd")
    for_gradients = _FOR_GRADIENTS.get(name, "")
    _quern._register_torch(family.family, family.arguments(), not family.returns_one, [name, plain], for_gradients)
    _quern._register_torch(family.family, family.out_arguments(), False, [f"{name}_out"], for_gradients)
    packet = getattr(torch.ops.quern, name)
    for key in ("PythonTLSSnapshot", "FuncTorchDynamicLayerFrontMode"):  # who sees operators in Python sees NAME
        library.impl(plain, packet.default, key)
    packet.without_gradients = getattr(torch.ops.quern, plain).op
    packet.__class__ = _Packet
    packet.__doc__ = family.doc()
    getattr(torch.ops.quern, f"{name}_out").__doc__ = family.doc(out=True)


for _each in FAMILIES.values():
    _make(_each)
