"""Rows picked by an index, in the form of torch.index_select."""
import torch

_ops = torch.ops.quern


def index_select(input, dim, index):
    """torch.index_select, with its gradient: deterministic, and accumulated in fp32."""
    dim = dim % input.dim()
    rows, rest = input.shape[dim], input.shape[dim + 1 :]
    outer = input.shape[:dim].numel()
    flat = input.reshape(outer, rows, rest.numel()) if outer != 1 else input.reshape(rows, rest.numel())
    if outer != 1:
        picked = _ops.gather(flat, index, outer=outer, rows=rows)
    else:
        picked = _ops.gather(flat, index)
    return picked.reshape(*input.shape[:dim], index.shape[0], *rest)
