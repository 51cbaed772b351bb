"""Peers of `rope`: the formula of Hugging Face's and of GPT-J's models in PyTorch, compiled and not, a Triton kernel with a
token a program, all heads of q and k in it, and those of packages that are installed."""
import torch
import triton
import triton.language as tl

from peers_data import TYPES, compiled, random
from peers_rope_packages import packages
from peers_timing import sets_for

CHECKS = [("rope batch=2 seq=9 heads=4 kv_heads=2 head_dim=64", 2e-2),
          ("rope batch=2 seq=9 heads=4 head_dim=64 rotary_dim=32 layout=sbhd style=interleaved pass=backward", 2e-2)]
# The order of a tensor's memory; every tensor is seen as [batch, seq, heads, head_dim].
ORDERS = {"bshd": (0, 1, 2), "sbhd": (1, 0, 2), "bhsd": (0, 2, 1)}


def rotated(x, cos, sin, offset, dim, interleaved):
    part = x[..., offset:offset + dim].float()
    if interleaved:
        x0, x1 = part[..., 0::2], part[..., 1::2]
    else:
        x0, x1 = part[..., :dim // 2], part[..., dim // 2:]
    both = (x0 * cos - x1 * sin, x1 * cos + x0 * sin)
    turned = torch.stack(both, -1).flatten(-2) if interleaved else torch.cat(both, -1)
    return torch.cat((x[..., :offset], turned.to(x.dtype), x[..., offset + dim:]), -1)


@triton.jit
def rotate_heads(source, out, stride, out_stride, heads: tl.constexpr, cos, sin, head_stride, out_head_stride,
                 dim: tl.constexpr, rotary: tl.constexpr, offset: tl.constexpr, step: tl.constexpr, HEADS: tl.constexpr,
                 PAIRS: tl.constexpr, ALL: tl.constexpr):
    head, pair, all = tl.arange(0, HEADS)[:, None], tl.arange(0, PAIRS)[None, :], tl.arange(0, ALL)[None, :]
    at, to = stride + head * head_stride, out_stride + head * out_head_stride
    copied = (head < heads) & (all < dim) & ((all < offset) | (all >= offset + rotary))
    if rotary != dim:
        tl.store(out + to + all, tl.load(source + at + all, copied), copied)
    inside = (head < heads) & (pair < rotary // 2)
    first, between = offset + pair * step, 1 if step == 2 else rotary // 2
    x0 = tl.load(source + at + first, inside).to(tl.float32)
    x1 = tl.load(source + at + first + between, inside).to(tl.float32)
    tl.store(out + to + first, x0 * cos - x1 * sin, inside)
    tl.store(out + to + first + between, x1 * cos + x0 * sin, inside)


@triton.jit
def rotate_token(q, k, q_out, k_out, cos, sin, seq, q0, q1, q2, o0, o1, o2, k0, k1, k2, sign, heads: tl.constexpr,
                 kv_heads: tl.constexpr, dim: tl.constexpr, rotary: tl.constexpr, offset: tl.constexpr, step: tl.constexpr,
                 HEADS: tl.constexpr, KV: tl.constexpr, PAIRS: tl.constexpr, ALL: tl.constexpr):
    token = tl.program_id(0) % seq
    batch = (tl.program_id(0) // seq).to(tl.int64)
    pair = tl.arange(0, PAIRS)[None, :]
    at = token * (rotary // 2) + pair
    c = tl.load(cos + at, pair < rotary // 2).to(tl.float32)
    s = tl.load(sin + at, pair < rotary // 2).to(tl.float32) * sign
    rotate_heads(q, q_out, batch * q0 + token * q1, batch * o0 + token * o1, heads, c, s, q2, o2, dim, rotary, offset, step,
                 HEADS, PAIRS, ALL)
    if kv_heads != 0:
        of_k = batch * k0 + token * k1
        rotate_heads(k, k_out, of_k, of_k, kv_heads, c, s, k2, k2, dim, rotary, offset, step, KV, PAIRS, ALL)


def triton_tokens(sign, offset, dim, interleaved, in_place, out_strides):

    def empty(x):
        if not out_strides:
            return torch.empty_like(x)
        return x.new_empty(x.shape[0] * out_strides[0]).as_strided(x.shape, (*out_strides, 1))

    def call(q, k, cos, sin):
        outs = (q, k) if in_place else (empty(q), None if k is None else torch.empty_like(k))
        other = q if k is None else k
        kv_heads = 0 if k is None else k.shape[2]
        rotate_token[(q.shape[0] * q.shape[1],)](
            q, other, outs[0], outs[1] if k is not None else q, cos, sin, q.shape[1], *q.stride()[:3], *outs[0].stride()[:3],
            *other.stride()[:3], sign, q.shape[2], kv_heads, q.shape[3], dim, offset, 2 if interleaved else 1,
            triton.next_power_of_2(max(1, q.shape[2])), triton.next_power_of_2(max(1, kv_heads)),
            triton.next_power_of_2(dim // 2), triton.next_power_of_2(q.shape[3]))
        return outs

    return call


def rope(seq, batch="1", heads="32", kv_heads="0", head_dim="128", rotary_dim="0", rotary_offset="0", layout="bshd",
         style="half", dtype="bf16", table="separate", table_dtype="f32", place="separate", q_strides="", q_out_strides="",
         **others):
    unknown = [f"{name}={value}" for name, value in others.items() if name != "pass"]
    if unknown:
        raise ValueError(" ".join(unknown))
    batch, seq, heads, kv_heads, head_dim, offset = map(int, (batch, seq, heads, kv_heads, head_dim, rotary_offset))
    dim, kind, entry = int(rotary_dim) or head_dim - offset, TYPES[dtype], TYPES[table_dtype]
    sign = 1 if others.get("pass", "forward") == "forward" else -1
    interleaved, in_place = style == "interleaved", place == "in_place"
    out_strides = [int(stride) for stride in q_out_strides.split(",")] if q_out_strides else []

    def tensor(count):
        if q_strides:
            strides = [int(stride) for stride in q_strides.split(",")]
            memory = random(kind, batch * strides[0])
            return memory.as_strided((batch, seq, count, head_dim), (*strides, 1))
        shape, order = (batch, seq, count), ORDERS[layout]
        memory = random(kind, *(shape[axis] for axis in order), head_dim)
        return memory.permute(*(order.index(axis) for axis in range(3)), 3)

    def one():
        angles = random(torch.float32, seq, dim // 2)
        return tensor(heads), tensor(kv_heads) if kv_heads else None, angles.cos().to(entry), angles.sin().to(entry)

    def eager(q, k, cos, sin):
        c, s = cos.float()[:, None], sign * sin.float()[:, None]
        outs = [None if x is None else rotated(x, c, s, offset, dim, interleaved) for x in (q, k)]
        if in_place:
            outs = [None if x is None else x.copy_(out) for x, out in zip((q, k), outs)]
        return tuple(outs)

    moved = dim if in_place else head_dim
    nbytes = 2 * batch * seq * (heads + kv_heads) * moved * kind.itemsize + seq * dim * entry.itemsize
    operands = [one() for _ in range(sets_for(max(nbytes, 1)))]
    own = {"Triton, a token a program": triton_tokens(sign, offset, dim, interleaved, in_place, out_strides)}
    dense = {
        "torch eager": eager,
        "torch.compile": compiled(eager),
        **packages(sign, offset, interleaved, layout, in_place, dim == head_dim),
    }  # they write a tensor without gaps
    return own if out_strides else {**dense, **own}, operands, nbytes
