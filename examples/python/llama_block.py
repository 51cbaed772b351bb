"""The rotary embedding and the gated feed-forward network of a Llama block, beside the same formula in eager PyTorch.

    python examples/python/llama_block.py         on a GPU
    QUERN_DEVICE=host python examples/python/llama_block.py
"""
import os

import torch

import quern.torch as qt

DEVICE = "cpu" if os.environ.get("QUERN_DEVICE") == "host" else "cuda"


def tables(positions, head_dim, theta=10000.0):
    frequencies = theta ** (-torch.arange(0, head_dim, 2, device=DEVICE) / head_dim)
    angles = torch.arange(positions, device=DEVICE)[:, None] * frequencies
    return angles.cos(), angles.sin()


def attention(q, k, v):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def with_quern(x, qkv, out, up, down, heads):
    batch, seq, hidden = x.shape
    q, k, v = (x @ qkv).view(batch, seq, 3, heads, -1).unbind(2)
    cos, sin = tables(seq, q.shape[-1])
    q, k = torch.ops.quern.rope(q.contiguous(), k.contiguous(), cos=cos, sin=sin)  # both in one launch
    x = x + attention(q, k, v).reshape(batch, seq, hidden) @ out
    return x + qt.swiglu(x @ up) @ down


def in_eager(x, qkv, out, up, down, heads):
    batch, seq, hidden = x.shape
    q, k, v = (x @ qkv).view(batch, seq, 3, heads, -1).unbind(2)
    cos, sin = (t[:, None].to(x.dtype) for t in tables(seq, q.shape[-1]))

    def rotated(t):
        a, b = t.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    x = x + attention(rotated(q), rotated(k), v).reshape(batch, seq, hidden) @ out
    a, b = (x @ up).chunk(2, -1)
    return x + (torch.nn.functional.silu(a) * b) @ down


def main(batch=2, seq=16, hidden=64, heads=4, inner=96):
    torch.manual_seed(0)
    shapes = ((hidden, 3 * hidden), (hidden, hidden), (hidden, 2 * inner), (inner, hidden))
    weights = [torch.randn(*s, device=DEVICE) / s[0] ** 0.5 for s in shapes]
    inputs = [t.requires_grad_() for t in (torch.randn(batch, seq, hidden, device=DEVICE), *weights)]
    gradient = torch.randn(batch, seq, hidden, device=DEVICE)
    results = []
    for block in (with_quern, in_eager):
        out = block(*inputs, heads)
        results.append([out, *torch.autograd.grad(out, inputs, gradient)])
    for name, a, b in zip(("block", "x", "qkv", "out", "up", "down"), *results):
        print(f"{name:8} differs by at most {(a - b).abs().max().item():.1e} of {b.abs().max().item():.1f}")
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


if __name__ == "__main__":
    main()
