"""Gated activations, act(a) * b of rows [a, b], with their gradients."""
import torch

_ops = torch.ops.quern


def gated(x, activation="silu", gate=None, **settings):
    """act(a) * b: of x = [a, b], or of x and gate. settings: further fields of quern.glu, such as layout and gating."""
    if gate is not None:
        settings.setdefault("layout", "split")
    return _ops.glu(x, gate, activation=activation, **settings)[0]


def swiglu(x, gate=None):
    """silu(a) * b."""
    return gated(x, "silu", gate)


def geglu(x, gate=None, approximate="none"):
    """gelu(a) * b; approximate="tanh": by the formula with tanh."""
    return gated(x, "gelu_tanh" if approximate == "tanh" else "gelu", gate)


def reglu(x, gate=None):
    """relu(a) * b."""
    return gated(x, "relu", gate)
