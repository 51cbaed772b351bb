"""xformers' operators of rows, by quern's scatter and concat: forward and backward are a kernel of quern each.

PyTorch does what is left: views, row numbers for the planes of a 3-D tensor, and zeros for rows that get no gradient.
"""
import torch

import quern.torch  # noqa: F401: registers the operators

_ops = torch.ops.quern


class _Available:
    @staticmethod
    def is_available():
        return True


ScaledIndexAddFw = ScaledIndexAddBw = IndexSelect = _Available


def _rows(index, planes):
    """index picks matrices of `planes` rows; a scale for each column makes a row of scatter out of each of those."""
    if planes == 1:
        return index
    return (index[:, None] * planes + torch.arange(planes, device=index.device)).reshape(-1)


class _ScaledIndexAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, index, source, scaling, alpha):
        width = source.shape[-1] if scaling is not None else source.shape[1:].numel()
        rows = _rows(index, source.shape[1:].numel() // width)
        flat = source.reshape(-1, width)
        _ops.scatter_out(flat, rows, scale=scaling, out=input.view(-1, width), op="add", factor="alpha", alpha=alpha)
        ctx.mark_dirty(input)
        ctx.save_for_backward(flat if scaling is not None else None, rows, scaling)
        ctx.alpha, ctx.width, ctx.shape = alpha, width, source.shape
        return input

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        flat, rows, scaling = ctx.saved_tensors
        made = _ops.scatter(
            flat, rows, scale=scaling, gradient=gradient.reshape(-1, ctx.width), op="add", factor="alpha", alpha=ctx.alpha,
            pass_="backward",
        )  # fmt: skip
        of_scaling = made[1] if scaling is not None else None
        return gradient, None, made[0].view(ctx.shape), of_scaling, None


def scaled_index_add(input, index, source, scaling=None, alpha=1.0):
    """input[index] += alpha * scaling * source, in place: [rows, planes, width]; scaling: [width]. No index twice."""
    return _ScaledIndexAdd.apply(input, index, source, scaling, alpha)


class _IndexSelectCat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, count, *tensors):
        sources, indices = tensors[:count], tensors[count:]
        ctx.shapes = [source.shape for source in sources]
        ctx.save_for_backward(*indices)
        return _ops.concat(list(sources), list(indices), layout="flat", counts=[i.shape[0] for i in indices])[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        indices = ctx.saved_tensors
        made = [gradient.new_zeros(shape) for shape in ctx.shapes]
        _ops.concat_out(
            [], list(indices), source=gradient, outs=made, layout="flat", counts=[i.shape[0] for i in indices],
            pass_="backward",
        )  # fmt: skip
        return (None, *made, *[None] * len(indices))


def index_select_cat(sources, indices):
    """The picked rows of each source, flat, one source after the other. sources: [rows, width] each."""
    return _IndexSelectCat.apply(len(sources), *sources, *indices)
