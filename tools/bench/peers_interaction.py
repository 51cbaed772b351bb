"""Peers of `interaction`: what DLRM runs, torch.bmm and picked pairs, and the broadcast product; forward and their gradients,
compiled and not. The backward passes are written out, so that nothing of the forward is timed."""
import torch

from peers_data import TYPES, compiled, only_pass, random
from peers_timing import sets_for

# Wide: these round sums and products of 16 bits in other places.
CHECKS = [("interaction batch=9 features=5 dim=16 dense=16 dtype=f32", 1e-4),
          ("interaction batch=9 features=5 dim=16 dense=16 diagonal=1 dtype=f32 pass=backward", 1e-4),
          ("interaction form=outer batch=3 features=1 dim=20 dtype=f32", 0),
          ("interaction form=outer batch=3 features=1 dim=20 dtype=f32 pass=backward", 1e-4)]


def pairs(features, diagonal):
    index = torch.tril_indices(features, features, 0 if diagonal else -1, device="cuda")
    return index[0], index[1]


def lower(features, dense, diagonal):
    li, lj = pairs(features, diagonal)

    def interact(x):
        products = torch.bmm(x, x.transpose(1, 2))[:, li, lj]
        return torch.cat([x.flatten(1)[:, :dense], products], 1) if dense else products

    return interact


def lower_backward(features, dense, diagonal):
    li, lj = pairs(features, diagonal)

    def gradient_of(x, gradient):
        triangle = gradient.new_zeros(x.shape[0], features, features)
        triangle[:, li, lj] = gradient[:, dense:]
        made = torch.bmm(triangle + triangle.transpose(1, 2), x)
        if dense:
            made.flatten(1)[:, :dense] += gradient[:, :dense]
        return made

    return gradient_of


def outer(x):
    c = x.flatten(1)
    return (c[:, :, None] * c[:, None, :]).flatten(1)


def outer_backward(x, gradient):
    c = x.flatten(1)
    matrix = gradient.view(c.shape[0], c.shape[1], c.shape[1])
    made = torch.bmm(matrix, c[:, :, None]) + torch.bmm(matrix.transpose(1, 2), c[:, :, None])
    return made.view(x.shape)


def interaction(batch="0", form="lower", features="27", dim="128", dtype="bf16", dense="0", diagonal="0", **others):
    batch, features, dim, dense, diagonal = int(batch), int(features), int(dim), int(dense), int(diagonal)
    backward, kind, width = only_pass(others) == "backward", TYPES[dtype], features * dim
    columns = width * width if form == "outer" else dense + features * (features - 1 + 2 * diagonal) // 2
    nbytes = batch * (width * (2 if backward else 1) + columns) * kind.itemsize

    def one():
        x = random(kind, batch, features, dim)
        return (x, random(kind, batch, columns)) if backward else (x,)

    if form == "outer":
        eager, name = outer_backward if backward else outer, "outer product"
    else:
        eager, name = (lower_backward if backward else lower)(features, dense, diagonal), "bmm and picked pairs"
    operands = [one() for _ in range(sets_for(max(nbytes, 1)))]
    return {f"torch {name}": eager, f"torch.compile {name}": compiled(eager)}, operands, nbytes
