"""MXFP8 quantization with torchao's names and layouts."""
from typing import Optional

import torch
from torch import Tensor

_ops = torch.ops.quern


def mxfp8_quantize(
    x: Tensor, rowwise: bool = True, colwise: bool = False, scaling_mode: str = "rceil", fp8_format: str = "e4m3"
) -> tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    """Quantizes [rows, cols] with a power-of-two scale for each 32 elements.

    Returns (out_rowwise, out_colwise, scales_rowwise, scales_colwise), None where not asked for. rowwise: blocks lie
    along rows; scales [rows, cols / 32]. colwise: along columns; the result is column-major, [rows, cols] with strides
    (1, rows), and its scales are [cols, rows / 32] with strides (1, cols).

    It has no gradient: PyTorch would round the gradient of an 8-bit result to 8 bits. For training there is
    mxfp8_fake_quantize, or a torch.autograd.Function around the quantization and the product that reads it.
    """
    settings = dict(mode=scaling_mode, element=fp8_format)
    if rowwise and colwise:
        out, scales, out_col, scales_col = _ops.mxfp8(x, direction="both", **settings)
        return out, out_col.t(), scales, scales_col.t()
    if colwise:
        out, scales = _ops.mxfp8(x, direction="col", **settings)
        return None, out.t(), None, scales.t()
    out, scales = _ops.mxfp8(x, direction="row", **settings)
    return out, None, scales, None


def mxfp8_quantize_3d(
    x: Tensor, scaling_mode: str = "rceil", fp8_format: str = "e4m3", square_blocks: bool = False
) -> tuple[Tensor, Tensor]:
    """Quantizes [experts, N, K] along N: (out, scales).

    out: [experts, N, K] with strides (N * K, 1, N). scales: [experts, N / 32, K], or with square_blocks, of 32 x 32
    elements, [experts, N / 32, K / 32].
    """
    settings = dict(block="square") if square_blocks else {}
    out, scales = _ops.mxfp8(x, direction="col", mode=scaling_mode, element=fp8_format, **settings)
    return out.transpose(-1, -2), scales


def mxfp8_dequantize(data: Tensor, scales: Tensor, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """The numbers of a rowwise result of mxfp8_quantize."""
    return _ops.mxfp8_dequantize(data, scales, dtype=str(dtype).split(".")[-1])


class _FakeQuantized(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scaling_mode, fp8_format, masked):
        rows = x.reshape(-1, x.shape[-1])
        data, scales = _ops.mxfp8(rows, mode=scaling_mode, element=fp8_format)
        dtype = str(x.dtype).split(".")[-1]
        result = _ops.mxfp8_dequantize(data, scales, dtype=dtype).reshape(x.shape)
        if masked:
            ctx.save_for_backward(_clipped(rows, scales, torch.finfo(data.dtype).max).reshape(x.shape))
        ctx.masked = masked
        return result

    @staticmethod
    def backward(ctx, gradient):
        return (torch.where(ctx.saved_tensors[0], 0, gradient) if ctx.masked else gradient), None, None, None


def _clipped(rows, scales, largest):
    """Where a number is beyond the largest that its block holds. Of a block with a NaN none is."""
    blocks = rows.float().abs().unflatten(-1, (-1, 32))
    return (blocks > (scales.float() * largest)[..., None]).flatten(-2)


def mxfp8_fake_quantize(
    x: Tensor, scaling_mode: str = "rceil", fp8_format: str = "e4m3", masked: bool = False
) -> Tensor:
    """x as MXFP8 along its last dimension holds it, in x's own type, for training with quantized values.

    The gradient passes straight through; with masked, zeros go to numbers that were clipped, which are beyond the largest
    that their block holds. Blocks of scaling_mode="floor" have such numbers, those of "rceil" and "ceil" have none.
    """
    return _FakeQuantized.apply(x, scaling_mode, fp8_format, masked)
