"""Updates of embedding tables by the gradient of what was looked up."""
from typing import Any, List, Optional

import torch
from torch import Tensor

_ops = torch.ops.quern

# What an optimizer keeps beside the tables.
_STATES = {"row_adagrad": ("moments",), "adam": ("moments", "squares")}


@torch.no_grad()
def embedding_update(
    gradient: Tensor,
    tables: List[Tensor],
    index: Tensor,
    optimizer: str = "sgd",
    learning_rate: float = 0.01,
    moments: Optional[List[Tensor]] = None,
    squares: Optional[List[Tensor]] = None,
    offsets: Optional[Tensor] = None,
    sample_weights: Optional[Tensor] = None,
    lengths: Optional[Tensor] = None,
    **settings: Any,
) -> None:
    """Updates, in place, the rows of the tables that torch.ops.quern.embedding has read, by the gradient of its result.

    optimizer: sgd; row_adagrad, with moments: [rows] of fp32 for each table; adam, with moments and squares: fp32 of the
    tables' shapes, and step, from 1 on. Rows that no id names are not touched. settings: those of the look-up, and
    epsilon, beta1, beta2, step, rounding="stochastic" with a seed.
    """
    if gradient.dim() != 2:
        raise ValueError(f"gradient has {gradient.dim()} dimensions: it is that of the result, [batch, all dims]")
    states = {"moments": moments, "squares": squares}
    needed = _STATES.get(optimizer, ())
    for name, state in states.items():
        if (state is not None) != (name in needed):
            raise ValueError(f"optimizer={optimizer!r} {'needs' if state is None else 'has no'} {name}")
    dense = gradient.shape[1] - sum(t.shape[1] for t in tables)
    if dense > 0:
        settings["dense_"] = dense
    if "mode" in settings:
        settings["mode_"] = settings.pop("mode")
    _ops.embedding_out(
        [],
        index,
        offsets,
        sample_weights,
        gradient=gradient,
        pass_="backward",
        optimizer=optimizer,
        learning_rate=learning_rate,
        updated=tables,
        **({} if lengths is None else dict(lengths=lengths, bags="lengths")),
        **{name: states[name] for name in needed},
        **settings,
    )
