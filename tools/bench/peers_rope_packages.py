"""Rotary kernels of flash-attn and of Liger, where those packages are installed. Both are Triton kernels of [batch, seq,
heads, head_dim]; flash-attn takes tables of the tensors' type, Liger works in place."""
import torch

try:
    from flash_attn.ops.triton.rotary import apply_rotary
except ImportError:
    apply_rotary = None
try:
    from liger_kernel.ops.rope import rope_backward, rope_forward
except ImportError:
    rope_forward = None


def prepared(change):
    """The tables as a package wants them, made in the first call, which is not timed."""
    made = {}

    def tables(*args):
        key = args[0].data_ptr()
        if key not in made:
            made[key] = change(*args)
        return made[key]

    return tables


def flash_attention(sign, interleaved, in_place):
    tables = prepared(lambda cos, sin, dtype: (cos.to(dtype), sin.to(dtype)))

    def call(q, k, cos, sin):
        cos, sin = tables(cos, sin, q.dtype)
        return tuple(
            None if x is None else apply_rotary(x, cos, sin, interleaved=interleaved, inplace=in_place, conjugate=sign < 0)
            for x in (q, k))

    return call


def liger(sign):
    turn = rope_forward if sign > 0 else rope_backward
    tables = prepared(lambda *tables: [torch.cat((x, x), -1)[None] for x in tables])

    def call(q, k, cos, sin):
        cos, sin = tables(cos, sin)
        out = turn(q.transpose(1, 2), (q[:, :, :0] if k is None else k).transpose(1, 2), cos, sin)
        return out[0].transpose(1, 2), None if k is None else out[1].transpose(1, 2)

    return call


def packages(sign, offset, interleaved, layout, in_place, is_whole):
    """`is_whole`: all elements of a head are rotated."""
    peers = {}
    if apply_rotary is not None and offset == 0 and layout == "bshd":
        peers["flash-attn"] = flash_attention(sign, interleaved, in_place)
    if rope_forward is not None and not interleaved and layout == "bshd" and in_place and is_whole:
        peers["Liger"] = liger(sign)
    return peers
