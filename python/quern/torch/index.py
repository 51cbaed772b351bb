"""Rows picked by an index, in the form of torch.index_select."""
import torch
from torch import Tensor

_ops = torch.ops.quern

# Types that quern lacks are moved as integers of their size.
_AS_INTEGERS = {
    torch.bool: torch.uint8, torch.float8_e4m3fnuz: torch.uint8, torch.float8_e5m2fnuz: torch.uint8,
    torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64, torch.complex32: torch.int32,
}  # fmt: skip


def index_select(input: Tensor, dim: int, index: Tensor, mode: str = "trap") -> Tensor:
    """torch.index_select, with its gradient: deterministic, and accumulated in fp32.

    mode: what an index outside does, of quern.gather: trap ends the kernel with an error, as PyTorch's does.
    """
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if input.dim() == 0 or (input.dtype in _AS_INTEGERS and not input.requires_grad):
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
        if index.numel() != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
        return index_select(input.reshape(1), dim, index, mode).reshape(())
    return index_select(input.view(_AS_INTEGERS[input.dtype]), dim, index, mode).view(input.dtype)
