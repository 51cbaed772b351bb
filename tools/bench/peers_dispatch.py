"""Peers of rows that move from tokens to the rows of their experts: `moe_permute`, and `moe_unpermute pass=backward` without
probs. With `element` rows are quantized on the way."""
import torch
import triton
import triton.language as tl

from peers_data import SCALINGS, compiled, row_block
from peers_mxfp8 import blocked, mx_blocks

# The programs that zero padding rows, at most.
PAD_PROGRAMS = 512
CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block in (1024, 2048, 4096) for warps in (4, 8)]


@triton.autotune(CONFIGS, ["tokens", "width", "TOPK"])
@triton.jit
def dispatched_rows(source, token_rows, pads, out, probs, out_probs, scales, out_scales, tokens, width, most_pads,
                    pad_programs, TOPK: tl.constexpr, PROBS: tl.constexpr, SCALES: tl.constexpr,
                    SCALE_BLOCK: tl.constexpr, BLOCK: tl.constexpr):
    scale_at = tl.arange(0, SCALE_BLOCK)
    if tl.program_id(0) < pad_programs:
        for i in range(tl.program_id(0), most_pads, pad_programs):
            row = tl.load(pads + i).to(tl.int64)
            for start in range(0, width, BLOCK):
                at = start + tl.arange(0, BLOCK)
                tl.store(out + row * width + at, tl.zeros([BLOCK], out.dtype.element_ty), (at < width) & (row >= 0))
            if PROBS:
                tl.store(out_probs + row, 0.0, row >= 0)
            if SCALES > 0:
                zeros = tl.zeros([SCALE_BLOCK], out_scales.dtype.element_ty)
                tl.store(out_scales + row * SCALES + scale_at, zeros, (scale_at < SCALES) & (row >= 0))
    else:
        parts = tl.cdiv(width, BLOCK)
        token = ((tl.program_id(0) - pad_programs) // parts).to(tl.int64)
        part = (tl.program_id(0) - pad_programs) % parts
        at = part * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(source + token * width + at, at < width)
        if SCALES > 0:
            scale = tl.load(scales + token * SCALES + scale_at, scale_at < SCALES)
        for k in tl.static_range(TOPK):
            row = tl.load(token_rows + token * TOPK + k).to(tl.int64)
            tl.store(out + row * width + at, value, (at < width) & (row >= 0))
            if PROBS:
                prob = tl.load(probs + token * TOPK + k)
                tl.store(out_probs + row, prob, (row >= 0) & (part == 0))
            if SCALES > 0:
                tl.store(out_scales + row * SCALES + scale_at, scale, (scale_at < SCALES) & (row >= 0) & (part == 0))


def triton_dispatch(x, routing, probs, scales):
    tokens, width = x.shape
    count = 0 if scales is None else scales.shape[1]
    pad_programs = min(PAD_PROGRAMS, routing.most_pads)

    def rows_like(part):
        return None if part is None else torch.empty(routing.capacity, *part.shape[1:], dtype=part.dtype, device="cuda")

    out, out_scales = rows_like(x), rows_like(scales)
    out_probs = None if probs is None else torch.empty(routing.capacity, dtype=probs.dtype, device="cuda")
    grid = lambda c: (pad_programs + tokens * triton.cdiv(width, c["BLOCK"]),)
    dispatched_rows[grid](x, routing.token_rows, routing.pads, out, x if probs is None else probs,
                          x if probs is None else out_probs, x if scales is None else scales,
                          x if scales is None else out_scales, tokens, width, routing.most_pads, pad_programs,
                          routing.token_rows.shape[1], probs is not None, count, row_block(count, 1 << 20))
    return out, out_probs, out_scales


def rows_of(part, index):
    """A row for each index; of -1 zeros."""
    picked = part[index.clamp(min=0)]
    return torch.where((index < 0).view(-1, *[1] * (part.dim() - 1)), 0, picked)


def torch_dispatch(x, row_tokens, row_routes, probs, scales):
    return (rows_of(x, row_tokens), None if probs is None else rows_of(probs.flatten(), row_routes),
            None if scales is None else rows_of(scales, row_tokens))


def dispatch_peers():
    """Calls take the rows of tokens, a Routing, and probs and scales or None. Compiled ones write all rows of the capacity,
    or those that the routing uses if the host knows how many they are."""
    function = compiled(torch_dispatch)
    return {
        "torch.compile, rows known on the host": lambda x, r, p, s: function(x, r.used_tokens, r.used_routes, p, s),
        "torch.compile": lambda x, r, p, s: function(x, r.row_tokens, r.row_routes, p, s),
        "Triton, a part of a token a program": triton_dispatch,
    }


# ---- Rows that are quantized on the way


def fp32_blocks(x, mode, length):
    """Elements and fp32 scales of blocks; as mx_blocks, but for mode=exact, in which scales are no powers of two."""
    x = torch.nn.functional.pad(x, (0, -x.shape[-1] % length))
    blocks = x.float().unflatten(-1, (-1, length))
    amax = blocks.abs().amax(-1, keepdim=True)
    if mode == "exact":
        scale = (amax / 448).clamp(min=2.0**-126)
    else:
        bits = amax.view(torch.int32) + (0x1FFFFF if mode == "rceil" else 0)
        scale = (((bits >> 23) - 8).clamp(min=1) << 23).view(torch.float32)
    elements = (blocks * (1 / scale)).clamp(-448, 448).to(torch.float8_e4m3fn).flatten(-2)
    return elements, scale.squeeze(-1)


def quantizer(scaling, mode):
    """Rows to the bytes of their elements and to their scales."""

    def quantize(x):
        elements, scales = mx_blocks(x, mode) if scaling == "mx" else fp32_blocks(x, mode, SCALINGS[scaling][0])
        return elements[:, :x.shape[1]].view(torch.uint8), scales

    return quantize


def quantized_peers(scaling, mode, layout):
    """Calls take the rows of tokens and a Routing."""
    quantize = quantizer(scaling, mode)

    def arranged(scales):
        return blocked(scales.unsqueeze(0))[0] if layout == "blocked" else scales

    def gather(elements, scales, row_tokens):
        return rows_of(elements, row_tokens), arranged(rows_of(scales, row_tokens))

    def quantize_first(x, row_tokens):
        return gather(*quantize(x), row_tokens)

    def gather_first(x, row_tokens):
        elements, scales = quantize(x[row_tokens.clamp(min=0)])
        is_pad = (row_tokens < 0).unsqueeze(1)
        return torch.where(is_pad, 0, elements), arranged(torch.where(is_pad, 0, scales))

    first, last, alone, then = compiled(quantize_first), compiled(gather_first), compiled(quantize), compiled(gather)
    return {
        "torch.compile quantize and gather, rows known on the host": lambda x, r: first(x, r.used_tokens),
        "torch.compile gather and quantize, rows known on the host": lambda x, r: last(x, r.used_tokens),
        "torch.compile quantize and gather": lambda x, r: first(x, r.row_tokens),
        "torch.compile gather and quantize": lambda x, r: last(x, r.row_tokens),
        "torch.compile quantize, then gather": lambda x, r: then(*alone(x), r.row_tokens),
    }
