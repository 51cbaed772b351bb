"""Rows picked by an index, in the form of torch.index_select."""
import torch

_ops = torch.ops.quern


def index_select(input, dim, index, mode="trap"):
    """torch.index_select, with its gradient: deterministic, and accumulated in fp32.

    mode: what an index outside does, of quern.gather: trap ends the kernel with an error, as PyTorch's does.
    """
    if input.dim() == 0 or input.dtype == torch.bool:
        return _of_other_forms(input, dim, index, mode)
    if not -input.dim() <= dim < input.dim():
        raise IndexError(f"dim {dim} is out of range; the tensor has {input.dim()} dimensions")
    dim, index = dim % input.dim(), index.reshape(-1)
    rows, rest = input.shape[dim], input.shape[dim + 1 :]
    outer = input.shape[:dim].numel()
    if outer != 1:
        flat = input.reshape(outer, rows, rest.numel())
        picked = _ops.gather(flat, index, outer=outer, rows=rows, mode=mode)
    else:
        picked = _ops.gather(input.reshape(rows, rest.numel()), index, mode=mode)
    return picked.reshape(*input.shape[:dim], index.shape[0], *rest)


def _of_other_forms(input, dim, index, mode):
    if input.dim() == 0:
        return index_select(input.reshape(1), dim, index, mode).reshape(())
    return index_select(input.view(torch.uint8), dim, index, mode).view(torch.bool)
