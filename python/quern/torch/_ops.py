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


def _named(family, tensors):
    """Those that are given, by the operands' names. A list that is not given is empty."""
    named = zip([o["name"] for o in family.inputs], tensors)
    return {name: value for name, value in named if value is not None and not (isinstance(value, list) and not value)}


def _make(family):
    function = getattr(quern, family.name)

    def run(*tensors, **settings):
        given = _named(family, tensors)
        result = function(**given, **_given(settings))
        return result if family.returns_one else _flat(result)

    def fake(*tensors, **settings):
        made = _fake.results(family, tensors, _given(settings))
        return made[0] if family.returns_one else made

    def run_out(*tensors, **settings):
        given = _named(family, tensors)
        function(**given, **_given(settings))

    _define(family.name, family.schema(), run, fake)
    _define(f"{family.name}_out", family.out_schema(), run_out, lambda *tensors, **settings: None)


def _define(name, schema, run, fake):
    library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CUDA", "CPU"):  # CPU: after quern.set_device("host")
        library.impl(name, run, key)
    torch.library.register_fake(f"quern::{name}", fake, lib=library)


for _each in FAMILIES.values():
    _make(_each)
