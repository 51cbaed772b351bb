"""Gated activations, act(a) * b of rows [a, b], with their gradients."""
from typing import Any, Optional

import torch
from torch import Tensor

_ops = torch.ops.quern


def gated(x: Tensor, activation: str = "silu", gate: Optional[Tensor] = None, **settings: Any) -> Tensor:
    """act(a) * b: of x = [a, b], or of x and gate. settings: further fields of quern.glu, such as layout and gating."""
    if gate is not None:
        settings.setdefault("layout", "split")
    return _ops.glu(x, gate, activation=activation, **settings)[0]


def swiglu(x: Tensor, gate: Optional[Tensor] = None) -> Tensor:
    """silu(a) * b."""
    return gated(x, "silu", gate)


def geglu(x: Tensor, gate: Optional[Tensor] = None, approximate: str = "none") -> Tensor:
    """gelu(a) * b; approximate="tanh": by the formula with tanh."""
    return gated(x, "gelu_tanh" if approximate == "tanh" else "gelu", gate)


def reglu(x: Tensor, gate: Optional[Tensor] = None) -> Tensor:
    """relu(a) * b."""
    return gated(x, "relu", gate)
