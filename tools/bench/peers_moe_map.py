"""Peers of `moe_map` in PyTorch, which read nothing on the host, so that a CUDA graph can have them: a stable sort of the
experts of all routes for `map=ids`, and a running sum over the tokens, as TransformerEngine has it, for a mask."""
import torch

from peers_data import compiled
from peers_timing import sets_for

CHECKS = [("moe_map tokens=40 experts=5 topk=3 align=4", 0), ("moe_map tokens=40 experts=5 topk=3 map=mask", 0),
          ("moe_map tokens=40 experts=2 topk=3 index=i64 empty=fill", 0),
          ("moe_map tokens=40 experts=11 topk=3 align=4 map=bits row_id_map=write", 0)]


def most_rows(routes, experts, align, fill):
    """The rows that the worst routing with this many routes needs."""
    padding = experts * align - min(routes, 1) if fill else min(experts, routes) * (align - 1)
    return (routes + padding) // align * align


def weights_of(experts, data_seed):
    """How often each expert is taken. As quern's data of seed 2: three of four routes to an eighth of three quarters of
    the experts, and none to the last quarter."""
    weights = torch.ones(experts, device="cuda")
    if data_seed % 4 == 2:
        used = max(1, experts - experts // 4)
        weights[:max(1, used // 8)] += 3 * used / max(1, used // 8)
        weights[used:] = 0
    return weights


def random_routes(tokens, experts, topk, data_seed):
    """Different experts for each token; -1 where there are fewer than topk."""
    routes = torch.full((tokens, topk), -1, device="cuda")
    weights = weights_of(experts, data_seed)
    own = min(int((weights > 0).sum()), topk)
    for first in range(0, tokens, 4096):  # a matrix of all tokens and experts would be large
        part = routes[first:first + 4096]
        keys = torch.empty(part.shape[0], experts, device="cuda").exponential_() / weights
        part[:, :own] = keys.argsort(1)[:, :own]
    return routes


def offsets_of(counts, align, fill):
    """The first row of each expert, then the end of the last."""
    padded = (counts.clamp(min=1) if fill else counts) + (align - 1)
    ends = (padded // align * align).cumsum(0)
    return torch.cat([torch.zeros_like(ends[:1]), ends])


def scattered(size, place, values):
    """Values at their places in a list of -1; the place `size` is for those that have none."""
    return torch.full((size + 1,), -1, dtype=torch.int32, device=place.device).scatter(0, place, values.int())[:size]


def padding_rows(row_tokens, end):
    """The padding rows, ascending, then -1, and how many."""
    row = torch.arange(row_tokens.numel(), device=row_tokens.device)
    is_pad = (row_tokens < 0) & (row < end)
    place = torch.where(is_pad, is_pad.cumsum(0) - 1, row_tokens.numel())
    return scattered(row_tokens.numel(), place, row), is_pad.sum()


def finished(counts, offsets, token_rows, row_tokens, has_pads):
    pads, padding = padding_rows(row_tokens, offsets[-1]) if has_pads else (None, torch.zeros_like(offsets[-1]))
    totals = torch.stack([offsets[-1], padding, torch.zeros_like(padding)])
    return counts.int(), offsets.int(), token_rows.int(), row_tokens, totals.int(), pads


def map_of_ids(experts, align, fill, capacity):
    def make(ids):
        flat, topk = ids.flatten(), ids.shape[1]
        expert = torch.where((flat < 0) | (flat >= experts), experts, flat).long()
        all_counts = torch.zeros(experts + 1, dtype=torch.int64, device=ids.device).scatter_add(
            0, expert, torch.ones_like(expert))
        counts = all_counts[:experts]
        offsets = offsets_of(counts, align, fill)
        by_expert, route = torch.sort(expert, stable=True)
        rank = torch.arange(flat.numel(), device=ids.device) - (all_counts.cumsum(0) - all_counts)[by_expert]
        row = torch.where(by_expert < experts, offsets[by_expert] + rank, -1)
        token_rows = torch.empty_like(row).scatter(0, route, row).view(ids.shape)
        row_tokens = scattered(capacity, torch.where(row < 0, capacity, row), route // topk)
        return finished(counts, offsets, token_rows, row_tokens, align > 1 or fill)

    return make


def columns_of(place, width, values):
    """Of each row of `values` those with a place below `width`, at their places in a row of -1."""
    rows = torch.full((place.shape[0], width + 1), -1, dtype=torch.int32, device=place.device)
    return rows.scatter(1, place, values.int())[:, :width]


def row_ids(routed, place, counts, rank, expert):
    """TransformerEngine's row_id_map: rows without padding, their experts, and their number."""
    experts = routed.shape[1]
    place = torch.where(routed, place, experts)
    rows = columns_of(place, experts, counts.cumsum(0) - counts + rank)
    return torch.cat([rows, columns_of(place, experts, expert), routed.sum(1, keepdim=True).int()], 1)


def unpacked(bits, experts):
    shifts = torch.arange(8, device=bits.device, dtype=torch.uint8)
    return ((bits.unsqueeze(-1) >> shifts) & 1).flatten(1)[:, :experts]


def map_of_mask(experts, topk, align, fill, capacity, is_bits, has_row_ids):
    """From the last expert down. A token has at most topk routes."""

    def make(mask):
        routed = (unpacked(mask, experts) if is_bits else mask) != 0
        ranks = routed.cumsum(0, dtype=torch.int32)
        counts = ranks[-1]
        offsets = offsets_of(counts, align, fill)
        row = offsets[:-1] + ranks - 1
        place = routed.flip(1).cumsum(1).flip(1) - 1
        at = torch.where(routed, place, topk)
        expert = torch.arange(experts, device=mask.device).expand_as(routed)
        token = torch.arange(mask.shape[0], device=mask.device).unsqueeze(1).expand_as(routed)
        row_tokens = scattered(capacity, torch.where(routed, row, capacity).flatten(), token.flatten())
        made = finished(counts, offsets, columns_of(at, topk, row), row_tokens, align > 1 or fill)
        ids = (row_ids(routed, place, counts, ranks - 1, expert),) if has_row_ids else ()
        return made + (columns_of(at, topk, expert),) + ids

    return make


def given_map(routes, experts, kind, index):
    """Routes in the form that the problem takes."""
    if kind == "ids":
        return routes.to(torch.int64 if index == "i64" else torch.int32)
    tokens = routes.shape[0]
    mask = torch.zeros(tokens, experts + 1, dtype=torch.uint8, device=routes.device)
    mask = mask.scatter_(1, torch.where(routes < 0, experts, routes), 1)[:, :experts].contiguous()
    if kind == "mask":
        return mask.int() if index == "i32" else mask
    padded = torch.nn.functional.pad(mask, (0, -experts % 8)).view(tokens, -1, 8).int()
    return (padded << torch.arange(8, device=routes.device)).sum(2).to(torch.uint8)


def moe_map(tokens, experts=8, topk=2, map="ids", index="none", align=1, empty="none", offset="i32", row_id_map="none",
            data_seed=1):
    tokens, experts, topk, align, fill = int(tokens), int(experts), int(topk), int(align), empty == "fill"
    if offset != "i32":
        raise ValueError(f"offset={offset}")
    if map != "ids" and topk > experts:
        raise ValueError(f"topk={topk} of {experts} experts in a mask")
    capacity, has_ids = most_rows(tokens * topk, experts, align, fill), row_id_map == "write"
    given = given_map(random_routes(tokens, experts, topk, data_seed), experts, map, index)
    routes = tokens * topk * (1 if map == "ids" else 2)
    nbytes = given.numel() * given.itemsize + 4 * (routes + capacity * (2 if align > 1 or fill else 1) + 2 * experts + 4)
    nbytes += tokens * (2 * experts + 1) * 4 if has_ids else 0
    eager = (map_of_ids(experts, align, fill, capacity) if map == "ids" else
             map_of_mask(experts, topk, align, fill, capacity, map == "bits", has_ids))
    operands = [(given.clone(),) for _ in range(sets_for(nbytes))]
    name = "stable sort" if map == "ids" else "cumsum over tokens"
    return {f"torch eager, {name}": eager, f"torch.compile, {name}": compiled(eager)}, operands, nbytes
