"""Rotary position embeddings, in the forms of flash-attention and of TransformerEngine."""
from typing import Optional, Union

import torch
from torch import Tensor

_ops = torch.ops.quern


def apply_rotary_emb(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool = False,
    inplace: bool = False,
    seqlen_offsets: Union[int, Tensor] = 0,
    cu_seqlens: Optional[Tensor] = None,
    max_seqlen: Optional[int] = None,
) -> Tensor:
    """flash-attention's function.

    x: [batch, seq, heads, head_dim], or with cu_seqlens [tokens, heads, head_dim]. cos, sin: [positions, rotary_dim / 2];
    the other elements of a head are copied. seqlen_offsets: a number, or a tensor [batch]. With inplace x is written.
    """
    settings = dict(style="interleaved" if interleaved else "half", rotary_dim=2 * cos.shape[-1], table_rows=cos.shape[0])
    given = dict(cos=cos, sin=sin)
    if cu_seqlens is not None:
        settings.update(layout="thd", batch=cu_seqlens.shape[0] - 1)
        given["cu_seqlens"] = cu_seqlens
    if isinstance(seqlen_offsets, torch.Tensor):
        settings["position"] = "starts"
        given["positions"] = seqlen_offsets
    elif seqlen_offsets != 0:
        settings["offset"] = seqlen_offsets
    if inplace and torch.is_grad_enabled() and x.requires_grad:  # what autograd keeps of x must not change
        rotated = _ops.rope(x, **given, **settings)[0]
        if not x.is_leaf:
            return x.copy_(rotated)
        x.detach().copy_(rotated)  # the gradient is of the leaf as it was
        return rotated
    if inplace:
        _ops.rope_out(**given, q_out=x, place="in_place", **settings)
        return x
    return _ops.rope(x, **given, **settings)[0]


apply_rotary = apply_rotary_emb


def apply_rotary_pos_emb(
    t: Tensor,
    freqs: Tensor,
    tensor_format: str = "sbhd",
    start_positions: Optional[Tensor] = None,
    interleaved: bool = False,
    fused: bool = True,
    cu_seqlens: Optional[Tensor] = None,
    cp_size: int = 1,
    cp_rank: int = 0,
) -> Tensor:
    """TransformerEngine's function.

    t: [seq, batch, heads, head_dim], "bshd" or "thd" otherwise. freqs: angles, [positions, 1, 1, rotary_dim] of float32.
    fused is always so.
    """
    angles = freqs.reshape(freqs.shape[0], freqs.shape[-1])
    settings = dict(
        layout=tensor_format, table="angles", style="interleaved" if interleaved else "half",
        rotary_dim=angles.shape[-1], table_rows=angles.shape[0],
    )  # fmt: skip
    given = dict(angles=angles)
    if cu_seqlens is not None:
        settings["batch"] = cu_seqlens.shape[0] - 1
        given["cu_seqlens"] = cu_seqlens
    if start_positions is not None:
        settings["position"] = "starts"
        given["positions"] = start_positions
    if cp_size != 1:
        settings.update(cp_size=cp_size, cp_rank=cp_rank)
    if tensor_format == "sbhd":  # an operand's dimensions are batch, seq, heads, head_dim in any order of memory
        return _ops.rope(t.transpose(0, 1), **given, **settings)[0].transpose(0, 1)
    return _ops.rope(t, **given, **settings)[0]
