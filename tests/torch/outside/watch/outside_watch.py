"""A plug-in of pytest for the suites of run.py: notes which of quern's operators each test ran, and breaks one on purpose.

QUERN_OUTSIDE_BREAK=NAME: every result of that family's operator has its elements one place further, the last one first.
"""
import os

import pytest
import torch

import quern
import quern.torch

_BROKEN = os.environ.get("QUERN_OUTSIDE_BREAK")
_ran = set()


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in _tensors(part)] if isinstance(value, (list, tuple)) else []


def _moved_on(tensors):
    with torch.no_grad():
        for tensor in tensors:
            tensor.copy_(tensor.roll(1))


def _watched(name, results, operator):
    def run(*inputs, **settings):
        made = operator(*inputs, **settings)
        _ran.add(name)
        if name == _BROKEN:
            _moved_on(_tensors(made) or [t for n, value in settings.items() if n in results for t in _tensors(value)])
        return made

    run.overloads, run.default = operator.overloads, operator.default  # PyTorch lists them
    return run


for _name, _tables in quern.families().items():
    _results = {o["name"] for o in _tables["operands"] if o["role"] in ("output", "update")}
    for _operator in (_name, f"{_name}_out"):
        setattr(torch.ops.quern, _operator, _watched(_name, _results, getattr(torch.ops.quern, _operator)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    _ran.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("quern", " ".join(sorted(_ran))))
