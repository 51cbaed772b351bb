"""torch.ops.quern.*: an operator for each family, and one that writes given results."""
import torch

import quern
from quern.torch import _fake
from quern.torch._schema import FAMILIES

library = torch.library.Library("quern", "DEF")


def _flat(result):
    """The tensors of a family's function, one after the other."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in _flat(part)]


def _given(values):
    return {name: value for name, value in values.items() if value is not None}


# Inputs that a forward does not read and its gradient does: an operator takes and saves them.
_FOR_GRADIENTS = {"moe_unpermute": "pads"}


def named(family, tensors, settings):
    """Those that are given, by the operands' names. A list that is not given is empty."""
    named = zip([o["name"] for o in family.inputs], tensors)
    if settings.get("pass_", "forward") in (None, "forward"):
        named = [(name, value) for name, value in named if name != _FOR_GRADIENTS.get(family.name)]
    return {name: value for name, value in named if value is not None and not (isinstance(value, list) and not value)}


def _contiguous(value):
    return [v.contiguous() for v in value] if isinstance(value, list) else value.contiguous()


_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT


def _call(function, given, settings):
    """Strides that no field of the family describes, such as a transposed matrix's, cost a copy."""
    try:
        return function(**given, **settings)
    except quern.Error as error:
        if error.code == "no_device" or error.driver_code == _NO_CONTEXT:  # a thread's first use of CUDA
            first = next(iter(given.values()))
            torch.cuda.set_device((first[0] if isinstance(first, list) else first).device)
            return function(**given, **settings)
        packed = {name: _contiguous(value) for name, value in given.items()}
        if error.code != "bad_input" or all(packed[name] is given[name] for name in given):
            raise
    return function(**packed, **settings)


def _on_device(function):
    """Runs an operator with its tensors' device current, since a plan belongs to the current context."""

    def run(*tensors, **settings):
        device = next((t[0] if isinstance(t, list) else t).device for t in tensors if isinstance(t, torch.Tensor) or t)
        if device.type != "cuda" or device.index == torch.cuda.current_device():
            return function(*tensors, **settings)
        with torch.cuda.device(device):
            return function(*tensors, **settings)

    return run


def _make(family):
    function = getattr(quern, family.name)

    def run(*tensors, **settings):
        given = named(family, tensors, settings)
        result = _call(function, given, _given(settings))
        return result if family.returns_one else _flat(result)

    def fake(*tensors, **settings):
        made = _fake.results(family, named(family, tensors, settings), _given(settings))
        return made[0] if family.returns_one else made

    def run_out(*tensors, **settings):
        given = named(family, tensors, settings)
        _call(function, given, _given(settings))
        for result in family.results:
            written = settings.get(result["name"])
            for tensor in written if isinstance(written, list) else [written] if written is not None else []:
                torch.autograd.graph.increment_version(tensor)

    _define(family.name, family.schema(), run, fake)
    _define(f"{family.name}_out", family.out_schema(), run_out, lambda *tensors, **settings: None)


def _define(name, schema, run, fake):
    library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CUDA", "CPU"):  # CPU: after quern.set_device("host")
        library.impl(name, _on_device(run), key)
    torch.library.register_fake(f"quern::{name}", fake, lib=library)


for _each in FAMILIES.values():
    _make(_each)
