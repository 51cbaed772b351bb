"""Peers of rows of experts that are added up for each token: `moe_unpermute`, its gradients, and the gradient of
`moe_permute`. Sums are in fp32."""
import torch
import triton
import triton.language as tl

from peers_data import compiled
from peers_dispatch import CONFIGS, rows_of


@triton.autotune(CONFIGS, ["tokens", "width", "TOPK"])
@triton.jit
def combined_rows(source, token_rows, out, probs, out_probs, residual, tokens, width, TOPK: tl.constexpr,
                  WEIGHTED: tl.constexpr, MOVED: tl.constexpr, RESIDUAL: tl.constexpr, BLOCK: tl.constexpr):
    parts = tl.cdiv(width, BLOCK)
    token, part = (tl.program_id(0) // parts).to(tl.int64), tl.program_id(0) % parts
    at = part * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(TOPK):
        row = tl.load(token_rows + token * TOPK + k).to(tl.int64)
        value = tl.load(source + row * width + at, (at < width) & (row >= 0), 0.0).to(tl.float32)
        if WEIGHTED:
            value = value * tl.load(probs + token * TOPK + k).to(tl.float32)
        sums += value
        if MOVED:
            prob = tl.load(probs + row, row >= 0, 0.0)
            tl.store(out_probs + token * TOPK + k, prob, part == 0)
    if RESIDUAL:
        sums += tl.load(residual + token * width + at, at < width).to(tl.float32)
    tl.store(out + token * width + at, sums, at < width)


def triton_combine(weighted):
    """With probs that are no weights, those of rows move back to their routes."""

    def combine(rows, routing, probs, residual):
        tokens, topk = routing.token_rows.shape
        width, moved = rows.shape[1], probs is not None and not weighted
        out = torch.empty(tokens, width, dtype=rows.dtype, device="cuda")
        out_probs = torch.empty(tokens, topk, dtype=probs.dtype, device="cuda") if moved else None
        grid = lambda c: (tokens * triton.cdiv(width, c["BLOCK"]),)
        combined_rows[grid](rows, routing.token_rows, out, rows if probs is None else probs, out_probs if moved else out,
                            rows if residual is None else residual, tokens, width, topk, weighted and probs is not None,
                            moved, residual is not None)
        return out, out_probs

    return combine


def torch_combine(weighted, in_turn):
    """`in_turn`: route by route instead of a sum over a dimension."""

    def combine(rows, token_rows, probs, residual):
        topk = token_rows.shape[1]

        def term(index, prob):
            value = rows_of(rows, index.flatten()).view(*index.shape, -1).float()
            return value if prob is None else value * prob.unsqueeze(-1).float()

        factors = probs if weighted else None
        if in_turn:
            sums = 0
            for k in range(topk):
                sums = sums + term(token_rows[:, k], None if factors is None else factors[:, k])
        else:
            sums = term(token_rows, factors).sum(1)
        if residual is not None:
            sums = sums + residual.float()
        moved = None if weighted or probs is None else rows_of(probs, token_rows.flatten()).view(token_rows.shape)
        return sums.to(rows.dtype), moved

    return combine


def combine_peers(weighted):
    """Calls take the rows of experts, a Routing, and probs and residual or None."""
    summed, in_turn = compiled(torch_combine(weighted, False)), compiled(torch_combine(weighted, True))
    return {
        "torch.compile, sum": lambda x, r, p, residual: summed(x, r.token_rows, p, residual),
        "torch.compile, route by route": lambda x, r, p, residual: in_turn(x, r.token_rows, p, residual),
        "Triton, a part of a token a program": triton_combine(weighted),
    }


# ---- The gradients of a sum with weights


GRADIENT_CONFIGS = [triton.Config({}, num_warps=warps) for warps in (4, 8, 16)]


@triton.autotune(GRADIENT_CONFIGS, ["tokens", "width", "TOPK"])
@triton.jit
def gradient_rows(gradient, rows, token_rows, pads, probs, out, out_probs, tokens, width, most_pads, pad_programs,
                  TOPK: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) < pad_programs:
        for i in range(tl.program_id(0), most_pads, pad_programs):
            row = tl.load(pads + i).to(tl.int64)
            tl.store(out + row * width + at, tl.zeros([BLOCK], out.dtype.element_ty), (at < width) & (row >= 0))
    else:
        token = (tl.program_id(0) - pad_programs).to(tl.int64)
        own = tl.load(gradient + token * width + at, at < width, 0.0).to(tl.float32)
        for k in tl.static_range(TOPK):
            row = tl.load(token_rows + token * TOPK + k).to(tl.int64)
            inside = (at < width) & (row >= 0)
            value = tl.load(rows + row * width + at, inside, 0.0).to(tl.float32)
            weight = tl.load(probs + token * TOPK + k).to(tl.float32)
            tl.store(out + row * width + at, own * weight, inside)
            tl.store(out_probs + token * TOPK + k, tl.sum(own * value, 0))


def triton_gradient(gradient, rows, routing, probs):
    tokens, width = gradient.shape
    out, out_probs = torch.empty_like(rows), torch.empty_like(probs)
    pad_programs = min(512, routing.most_pads)
    gradient_rows[(pad_programs + tokens,)](gradient, rows, routing.token_rows, routing.pads, probs, out, out_probs, tokens,
                                            width, routing.most_pads, pad_programs, probs.shape[1],
                                            triton.next_power_of_2(width))
    return out, out_probs


def torch_gradient(gradient, rows, row_tokens, row_routes, token_rows, probs):
    """By rows of experts, so that one kernel can read both matrices once; then dot products move to their routes."""
    own = rows_of(gradient, row_tokens).float()
    weight = rows_of(probs.flatten(), row_routes).float().unsqueeze(1)
    dots = (own * rows.float()).sum(1)
    out_probs = rows_of(dots, token_rows.flatten()).view(token_rows.shape)
    return (own * weight).to(rows.dtype), out_probs.to(probs.dtype)


def gradient_peers():
    """Calls take the gradient of tokens, the rows of experts, a Routing, and probs."""
    function = compiled(torch_gradient)
    return {
        "torch.compile, rows known on the host":
            lambda g, x, r, p: function(g, x[:r.used], r.used_tokens, r.used_routes, r.token_rows, p),
        "torch.compile": lambda g, x, r, p: function(g, x, r.row_tokens, r.row_routes, r.token_rows, p),
        "Triton, a token a program": triton_gradient,
    }
