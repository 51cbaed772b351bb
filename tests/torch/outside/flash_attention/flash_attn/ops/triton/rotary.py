"""quern's rope in the place of flash-attention's Triton kernel, with the arguments of its launcher."""
import torch

import quern.torch  # noqa: F401: registers the operators

_ops = torch.ops.quern


def apply_rotary(
    x,
    cos,
    sin,
    seqlen_offsets=0,
    cu_seqlens=None,
    max_seqlen=None,
    interleaved=False,
    inplace=False,
    conjugate=False,
):
    """x rotated, back with conjugate: [batch, seq, heads, head_dim], or with cu_seqlens [tokens, heads, head_dim]."""
    given = dict(cos=cos, sin=sin)
    settings = dict(
        style="interleaved" if interleaved else "half",
        pass_="backward" if conjugate else "forward",
        rotary_dim=2 * cos.shape[-1],
        table_rows=cos.shape[0],
    )
    if cu_seqlens is not None:
        given["cu_seqlens"] = cu_seqlens
        settings.update(layout="thd", batch=cu_seqlens.shape[0] - 1)
    if isinstance(seqlen_offsets, torch.Tensor):
        given["positions"] = seqlen_offsets
        settings["position"] = "starts"
    elif seqlen_offsets != 0:
        settings["offset"] = seqlen_offsets
    if not inplace:
        return _ops.rope(x, **given, **settings)[0]
    _ops.rope_out(**given, q_out=x, place="in_place", **settings)
    return x
