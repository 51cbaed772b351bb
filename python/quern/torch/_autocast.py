"""Within torch.autocast, operands of different floating types are cast to the widest, as PyTorch's own operators do.

Outside of it nothing here runs: an operator refuses what differs.
"""
import functools

import torch

from quern.torch._ops import library
from quern.torch._schema import FAMILIES

# Operands of one type, of the families that have several.
_OF_ONE_TYPE = {
    "concat": ("sources",),
    "embedding": ("weights", "dense"),
    "glu": ("x", "gate"),
    "moe_unpermute": ("source", "rows", "residual"),
    "multi_row_pad": ("sources",),
    "rope": ("q", "k", "v"),
}
# Those of them that are cast; of others all. Tables have types of their own, and a cast would copy them whole.
_CAST = {"embedding": ("dense",)}
_TYPES = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
_KEYS = ("AutocastCPU", "AutocastCUDA")


def _widest(values):
    """None where nothing is to be cast."""
    types = {t.dtype for v in values for t in (v if isinstance(v, (list, tuple)) else [v]) if isinstance(t, torch.Tensor)}
    return functools.reduce(torch.promote_types, types) if len(types) > 1 and types <= _TYPES else None


def _cast(value, dtype):
    return [t.to(dtype) for t in value] if isinstance(value, (list, tuple)) else None if value is None else value.to(dtype)


def _excluded():
    sets = [torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key)) for key in _KEYS]
    return sets[0] | sets[1]


def _register(name, operands):
    names = [o["name"] for o in FAMILIES[name.strip("_")].inputs]
    places = [i for i, n in enumerate(names) if n in operands]
    cast = [i for i in places if names[i] in _CAST.get(name.strip("_"), operands)]
    op, keys = getattr(torch.ops.quern, name).default, _excluded()

    def run(*inputs, **settings):
        given = list(inputs) + [None] * (max(places) + 1 - len(inputs))
        dtype = _widest([given[i] for i in places])
        if dtype is not None:
            inputs = [_cast(v, dtype) if i in cast else v for i, v in enumerate(given)]
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return op(*inputs, **settings)

    for key in _KEYS:
        library.impl(name, run, key)


for _name, _operands in _OF_ONE_TYPE.items():
    for _each in (_name, f"_{_name}"):  # _NAME runs where gradients are not recorded
        _register(_each, _operands)
