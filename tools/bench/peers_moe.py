"""The problems of `moe_permute` and `moe_unpermute`: fields, operands, and which peers take them. A Routing is made beforehand
and not timed."""
import dataclasses

import torch

from peers_combine import combine_peers, gradient_peers
from peers_data import MOVED_TYPES, TYPES, only_pass, random, scale_shape
from peers_dispatch import dispatch_peers, quantized_peers
from peers_moe_map import map_of_ids, most_rows, random_routes
from peers_timing import sets_for

SMALL = "tokens=40 experts=5 topk=3 hidden=96"
# A problem, and how far results may be apart. With 2 experts and 3 routes some routes have no row.
CHECKS = [(f"moe_permute {SMALL} align=4 probs=f32", 0),
          ("moe_permute tokens=40 experts=2 topk=3 hidden=96", 0),
          (f"moe_permute {SMALL} align=4 dtype=e4m3 scaling=block128", 0),
          (f"moe_permute {SMALL} align=4 element=e4m3 scaling=mx", 0),
          (f"moe_permute {SMALL} align=128 element=e4m3 scaling=mx scale_layout=blocked", 0),
          (f"moe_permute {SMALL} align=128 element=e4m3 scaling=block128 mode=exact", 0),
          ("moe_permute tokens=40 experts=2 topk=3 hidden=96 align=4 pass=backward probs=f32", 1e-2),
          (f"moe_unpermute {SMALL} align=4 probs=f32", 1e-2),
          (f"moe_unpermute {SMALL} align=4 residual=add dtype=f32", 1e-5),
          (f"moe_unpermute {SMALL} align=4 pass=backward", 0),
          ("moe_unpermute tokens=40 experts=2 topk=3 hidden=96 align=4 probs=f32 pass=backward dtype=f32", 1e-4)]


@dataclasses.dataclass
class Routing:
    token_rows: torch.Tensor  # [tokens, topk] of i32: the row of each route, or -1
    row_tokens: torch.Tensor  # [capacity] of i32: the token of each row, or -1
    row_routes: torch.Tensor  # [capacity] of i32: its place in token_rows, or -1
    pads: torch.Tensor  # [capacity] of i32: the padding rows, then -1
    used: int  # rows, padding rows among them
    most_pads: int  # that any routing has; 0: no padding rows
    padding: int  # rows of this one

    @property
    def capacity(self):
        return self.row_tokens.numel()

    @property
    def used_tokens(self):
        return self.row_tokens[:self.used]

    @property
    def used_routes(self):
        return self.row_routes[:self.used]

    def clone(self):
        copies = {field: getattr(self, field).clone() for field in ("token_rows", "row_tokens", "row_routes", "pads")}
        return dataclasses.replace(self, **copies)


def random_routing(tokens, experts, topk, align, fill, data_seed):
    capacity = most_rows(tokens * topk, experts, align, fill)
    routes = random_routes(tokens, experts, topk, data_seed)
    _, _, token_rows, row_tokens, totals, pads = map_of_ids(experts, align, fill, capacity)(routes)
    row_routes = torch.full((capacity + 1,), -1, dtype=torch.int32, device="cuda")
    flat = token_rows.flatten().long()
    row_routes[torch.where(flat < 0, capacity, flat)] = torch.arange(flat.numel(), dtype=torch.int32, device="cuda")
    used, padding, _ = totals.tolist()
    has_pads = pads is not None
    return Routing(token_rows, row_tokens, row_routes[:capacity].contiguous(), pads if has_pads else row_tokens, used,
                   min(capacity, experts * align) if has_pads else 0, padding)


def moved_bytes(routing, width, read, written, probs, twice):
    """As quern counts them: `read` bytes of an element of tokens, `written` of each row of a route."""
    routes = int((routing.token_rows >= 0).sum())
    of_probs = 0 if probs == "none" else routing.token_rows.numel() * TYPES[probs].itemsize * (2 if twice else 1)
    tokens = routing.token_rows.shape[0]
    numbers = routing.token_rows.numel() + routing.padding
    return int(tokens * width * read + (routes + routing.padding) * width * written + of_probs + 4 * numbers)


def some(kind, *shape):
    return None if kind == "none" else random(TYPES[kind], *shape)


def dispatch(routing, hidden, dtype, probs, scaling, topk):
    """Rows to experts, as they are, with what moves with them."""
    tokens, kind = routing.token_rows.shape[0], MOVED_TYPES[dtype]
    count, scale_kind = scale_shape(scaling, hidden)
    of_element = kind.itemsize + count * scale_kind.itemsize / hidden
    nbytes = moved_bytes(routing, hidden, of_element, of_element, probs, True)
    operands = [(random(kind, tokens, hidden), routing.clone(), some(probs, tokens, topk),
                 random(scale_kind, tokens, count) if count else None) for _ in range(sets_for(nbytes))]
    return dispatch_peers(), operands, nbytes


def quantized_dispatch(routing, hidden, dtype, scaling, mode, layout):
    tokens, kind = routing.token_rows.shape[0], TYPES[dtype]
    count, scale_kind = scale_shape(scaling, hidden)
    nbytes = moved_bytes(routing, hidden, kind.itemsize, 1 + count * scale_kind.itemsize / hidden, "none", False)
    operands = [(random(kind, tokens, hidden), routing.clone()) for _ in range(sets_for(nbytes))]
    return quantized_peers(scaling, mode, layout), operands, nbytes


def combine(routing, hidden, dtype, probs, weighted, residual):
    """The sum of the rows of each token. Padding rows are not read."""
    (tokens, topk), kind = routing.token_rows.shape, TYPES[dtype]
    routing_read = dataclasses.replace(routing, padding=0)
    nbytes = moved_bytes(routing_read, hidden, kind.itemsize * (2 if residual else 1), kind.itemsize, probs, not weighted)
    operands = [(random(kind, routing.capacity, hidden), routing.clone(),
                 some(probs, tokens, topk) if weighted else some(probs, routing.capacity),
                 random(kind, tokens, hidden) if residual else None)
                for _ in range(sets_for(nbytes, routing.capacity * hidden * kind.itemsize))]
    return combine_peers(weighted), operands, nbytes


def gradient(routing, hidden, dtype, probs):
    (tokens, topk), kind = routing.token_rows.shape, TYPES[dtype]
    routes = int((routing.token_rows >= 0).sum())
    nbytes = moved_bytes(routing, hidden, kind.itemsize, kind.itemsize, probs, True) + routes * hidden * kind.itemsize
    operands = [(random(kind, tokens, hidden), random(kind, routing.capacity, hidden), routing.clone(),
                 some(probs, tokens, topk)) for _ in range(sets_for(nbytes, routing.capacity * hidden * kind.itemsize))]
    return gradient_peers(), operands, nbytes


def moe_permute(tokens, hidden=4096, experts=8, topk=2, align=1, empty="none", dtype="bf16", probs="none", scaling="none",
                element="none", mode="rceil", scale_layout="plain", data_seed=1, **others):
    backward, hidden, topk = only_pass(others) == "backward", int(hidden), int(topk)
    routing = random_routing(int(tokens), int(experts), topk, int(align), empty == "fill", data_seed)
    if backward:
        return combine(routing, hidden, dtype, probs, False, False)
    if element == "none":
        return dispatch(routing, hidden, dtype, probs, scaling, topk)
    if element != "e4m3" or probs != "none" or scaling == "none" or mode not in ("rceil", "floor", "exact"):
        raise ValueError(f"element={element} probs={probs} scaling={scaling} mode={mode}")
    return quantized_dispatch(routing, hidden, dtype, scaling, mode, scale_layout)


def moe_unpermute(tokens, hidden=4096, experts=8, topk=2, align=1, empty="none", dtype="bf16", probs="none",
                  residual="none", scaling="none", data_seed=1, **others):
    backward, hidden, topk = only_pass(others) == "backward", int(hidden), int(topk)
    routing = random_routing(int(tokens), int(experts), topk, int(align), empty == "fill", data_seed)
    if not backward:
        return combine(routing, hidden, dtype, probs, True, residual == "add")
    if probs == "none":
        return dispatch(routing, hidden, dtype, "none", scaling, topk)
    return gradient(routing, hidden, dtype, probs)
