"""A mixture-of-experts layer in FP8, forward and backward, beside the same formula in eager PyTorch.

    python examples/python/moe_layer.py           on a GPU
    QUERN_DEVICE=host python examples/python/moe_layer.py

Tokens go to the rows of their experts, padded to whole blocks of a matrix product, and are rounded to MXFP8; each expert
is a gated feed-forward network; the rows of a token are added up by their probabilities.
"""
import os

import torch

import quern.torch as qt

DEVICE = "cpu" if os.environ.get("QUERN_DEVICE") == "host" else "cuda"
ALIGN = 32


def route(x, router, topk):
    """The probabilities of all experts, zero but for a token's best ones, and the mask of these."""
    scores = torch.softmax(x @ router, -1)
    mask = torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, scores.topk(topk, -1).indices, True)
    return scores * mask, mask


def with_quern(x, router, up, down, topk):
    probs, mask = route(x, router, topk)
    counts = mask.sum(0).cpu()  # the experts' products need them here; on one's own grouped product they stay there
    rows, _, routing, _, sizes = qt.moe_permute_and_pad_with_probs(x, probs, mask, counts, ALIGN, topk=topk)
    rows = qt.mxfp8_fake_quantize(rows)
    parts = [qt.swiglu(part @ up[e]) @ down[e] for e, part in enumerate(rows.split(sizes.tolist()))]
    return qt.moe_unpermute(torch.cat(parts), routing, probs)


def in_eager(x, router, up, down, topk):
    probs, mask = route(x, router, topk)
    result = torch.zeros_like(x)
    for e in range(router.shape[1]):
        tokens = mask[:, e].nonzero()[:, 0]
        a, b = (rounded(x[tokens]) @ up[e]).chunk(2, -1)
        result = result.index_add(0, tokens, (torch.nn.functional.silu(a) * b) @ down[e] * probs[tokens, e, None])
    return result


def rounded(x):
    """To MXFP8, in plain PyTorch: a power of two for each 32 numbers, the least with which none is above 448."""
    blocks = x.detach().float().unflatten(-1, (-1, 32))
    scale = torch.exp2(torch.ceil(torch.log2(blocks.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 448)))
    values = (blocks / scale).to(torch.float8_e4m3fn).float() * scale
    return x + (values.flatten(-2).to(x.dtype) - x).detach()


def main(tokens=64, hidden=64, inner=96, experts=4, topk=2):
    torch.manual_seed(0)
    weights = [torch.randn(*s, device=DEVICE) / s[-2] ** 0.5 for s in ((hidden, experts), (experts, hidden, 2 * inner), (experts, inner, hidden))]
    x = torch.randn(tokens, hidden, device=DEVICE)
    inputs = [t.requires_grad_() for t in (x, *weights)]
    gradient = torch.randn(tokens, hidden, device=DEVICE)
    results = []
    for layer in (with_quern, in_eager):
        out = layer(*inputs, topk)
        results.append([out, *torch.autograd.grad(out, inputs, gradient)])
    for name, a, b in zip(("out", "x", "router", "up", "down"), *results):
        print(f"{name:8} differs by at most {(a - b).abs().max().item():.1e} of {b.abs().max().item():.1f}")
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)


if __name__ == "__main__":
    main()
