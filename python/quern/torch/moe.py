"""Data movement of mixtures of experts, with the names and semantics of TransformerEngine's functions.

Where TransformerEngine returns a tensor `row_id_map`, these return a Routing, which the counterparts take. No function
copies from the device to the host. Numbers of rows are exact where the caller gives them: num_out_tokens, or
tokens_per_expert on the host; otherwise results have the most rows that the routing can need, and `counts` and `totals`
on the device say how many are used. Rows beyond those are zeros.
"""
from collections.abc import Sequence
from typing import NamedTuple, Optional, Union

import torch
from torch import Tensor

_ops = torch.ops.quern


class Routing(NamedTuple):
    """Where the rows of each token are: what moe_permute found and moe_unpermute takes."""

    token_rows: Tensor  # [tokens, topk] of int32: the row of each route, -1: none
    token_experts: Optional[Tensor]  # [tokens, topk], of a mask: the expert of each route
    pads: Optional[Tensor]  # [rows], with an alignment: the padding rows, then -1
    counts: Tensor  # [experts] of int32: routes of each expert
    totals: Tensor  # [3]: rows that the routing needs, padding rows, dropped routes
    experts: int
    align: int
    capacity: int
    tail: str  # "list": unused rows are among the pads


def _route(routing_map, map_type, capacity, topk, experts, align=1, exact=False):
    """The Routing of a mask [tokens, experts] or of ids [tokens, topk].

    exact: the routing needs just as many rows as the capacity, as counts on the host say.
    """
    if map_type == "mask":
        experts, topk = routing_map.shape[1], topk or routing_map.shape[1]
        form = "mask"
    elif map_type == "index":
        topk, form = routing_map.shape[1], "ids"
    else:
        raise ValueError(f"map_type={map_type!r} is not 'mask' or 'index'")
    if not exact:
        capacity = _capacity(routing_map.shape[0], topk, experts, align, capacity)
    # Where the routing may need fewer rows, the map lists the others, so that they and their gradients are zeros.
    tail = "leave" if exact else "list"
    settings = dict(
        map_=form, experts=experts, topk=topk, align=align, capacity=capacity, tokens=routing_map.shape[0], tail=tail
    )
    made = list(_ops.moe_map(routing_map, **settings))
    counts, _offsets, token_rows = made[0], made[1], made[2]
    token_experts = made[3] if form == "mask" else None
    rest = made[4 if form == "mask" else 3 :]
    pads = rest[1] if align > 1 or not exact else None
    return Routing(token_rows, token_experts, pads, counts, rest[-1], experts, align, capacity, tail)


def _capacity(tokens, topk, experts, align, given):
    if given is not None and given >= 0:
        return given
    return tokens * topk + (experts * (align - 1) if align > 1 else 0)


def _common(routing):
    return dict(
        token_rows=routing.token_rows, pads=routing.pads, experts=routing.experts, topk=routing.token_rows.shape[1],
        align=routing.align, capacity=routing.capacity, tail=routing.tail,
    )  # fmt: skip


def moe_permute(
    inp: Tensor,
    routing_map: Tensor,
    num_out_tokens: int = -1,
    max_token_num: int = -1,
    map_type: str = "mask",
    *,
    topk: Optional[int] = None,
    num_experts: int = 1024,
) -> tuple[Tensor, Routing]:
    """Copies the rows of tokens to the rows of their experts. Returns (permuted, routing).

    inp: [tokens, hidden]. routing_map: a mask [tokens, experts], or with map_type="index" ids [tokens, topk].
    num_out_tokens: rows of the result; routes beyond it are dropped. topk: the most routes of a token in a mask, all
    experts unless it is given: a smaller one makes smaller maps. num_experts: of ids. max_token_num is not needed.
    """
    routing = _route(routing_map, map_type, num_out_tokens, topk, num_experts)
    return _ops.moe_permute(inp, **_common(routing))[0], routing


def moe_permute_with_probs(
    inp: Tensor, probs: Tensor, routing_map: Tensor, num_out_tokens: int = -1, *, topk: Optional[int] = None
) -> tuple[Tensor, Tensor, Routing]:
    """moe_permute of a mask with a probability for each route. Returns (permuted, permuted_probs, routing).

    probs: [tokens, experts].
    """
    routing = _route(routing_map, "mask", num_out_tokens, topk, None)
    out, out_probs = _ops.moe_permute(
        inp, probs=probs, token_experts=routing.token_experts, prob_layout="experts", **_common(routing)
    )
    return out, out_probs, routing


def moe_permute_and_pad_with_probs(
    inp: Tensor,
    probs: Tensor,
    routing_map: Tensor,
    tokens_per_expert: Union[Sequence[int], Tensor],
    align_size: int,
    *,
    topk: Optional[int] = None,
) -> tuple[Tensor, Tensor, Routing, None, Tensor]:
    """The same with each expert's rows padded to a multiple of align_size, by rows of zeros.

    Returns (permuted, permuted_probs, routing, pad_offsets, target_tokens_per_expert); the routing has what
    pad_offsets is for, so it is None. tokens_per_expert: a list or a tensor; on the host the result has exactly the
    padded rows, on the device the most that can be: tokens * topk + experts * (align_size - 1).
    """
    target, rows = _padded(tokens_per_expert, align_size)
    routing = _route(routing_map, "mask", rows, topk, None, align_size, exact=rows is not None)
    out, out_probs = _ops.moe_permute(
        inp, probs=probs, token_experts=routing.token_experts, prob_layout="experts", **_common(routing)
    )
    return out, out_probs, routing, None, target


def _padded(counts, align):
    """The padded counts, and their sum where it is known without a copy from the device."""
    if isinstance(counts, (list, tuple)):
        padded = [-(-int(c) // align) * align for c in counts]
        return torch.tensor(padded), sum(padded)
    counts = torch.as_tensor(counts)
    target = torch.div(counts + (align - 1), align, rounding_mode="floor") * align
    if target.device.type != "cpu":
        return target, None
    rows = target.sum().item()
    torch._check(rows >= 0)  # torch.compile knows no more of it
    return target, rows


def moe_unpermute(
    inp: Tensor,
    row_id_map: Routing,
    merging_probs: Optional[Tensor] = None,
    restore_shape: Optional[Sequence[int]] = None,
    map_type: str = "mask",
    pad_offsets: Optional[Tensor] = None,
) -> Tensor:
    """Adds up the rows of each token. Returns [tokens, hidden].

    row_id_map: the Routing of the permute, which knows the tokens and the padding, so that pad_offsets is not needed.
    restore_shape: the shape of the result, as the tokens had it: [seq, batch, hidden].
    merging_probs: factors of the rows, [tokens, experts] of a mask, [tokens, topk] of ids.
    """
    given = {}
    if merging_probs is not None:
        given["probs"] = merging_probs
        if row_id_map.token_experts is not None:
            given.update(token_experts=row_id_map.token_experts, prob_layout="experts")
    made = _ops.moe_unpermute(inp, **given, **_common(row_id_map))[0]
    return made if restore_shape is None else made.reshape(restore_shape)


def moe_sort_chunks_by_index(inp: Tensor, split_sizes: Tensor, sorted_index: Tensor) -> Tensor:
    """Chunks of rows in another order: chunk k of the result is chunk sorted_index[k] of inp."""
    return _ops.chunk_sort(inp, split_sizes, sorted_index)[0]


def moe_sort_chunks_by_index_with_probs(
    inp: Tensor, probs: Tensor, split_sizes: Tensor, sorted_index: Tensor
) -> tuple[Tensor, Tensor]:
    """The same with a number for each row. Returns (sorted, sorted_probs)."""
    out, out_probs = _ops.chunk_sort(inp, split_sizes, sorted_index, probs)
    return out, out_probs
