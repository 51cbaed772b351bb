"""PyTorch operators: torch.ops.quern.*, and functions with the names and semantics that models already use.

    import quern.torch

    y = torch.ops.quern.gather(x, index)                       # an operator for each family, with its gradient
    permuted, routing = quern.torch.moe_permute(x, mask)       # TransformerEngine's names
    q = quern.torch.apply_rotary_emb(q, cos, sin)              # flash-attention's
    out, _, scales, _ = quern.torch.mxfp8_quantize(x)          # torchao's
    swiglu = quern.torch.fuse("out = silu(gate) * up")         # formulas of one's own, with their gradients

The operators work in eager mode, under torch.compile and in CUDA graphs. `settings` of a family are keywords: the fields
that help(quern.gather) lists; `pass` is pass_.
"""
from quern.torch import _ops, _autograd, _autocast  # noqa: F401: register the operators, gradients and casts
from quern.torch.activations import gated, geglu, reglu, swiglu
from quern.torch.embedding import embedding_update
from quern.torch.fusion import fuse
from quern.torch.index import index_select
from quern.torch.moe import (
    Routing,
    moe_permute,
    moe_permute_and_pad_with_probs,
    moe_permute_with_probs,
    moe_sort_chunks_by_index,
    moe_sort_chunks_by_index_with_probs,
    moe_unpermute,
)
from quern.torch.mx import mxfp8_dequantize, mxfp8_fake_quantize, mxfp8_quantize, mxfp8_quantize_3d
from quern.torch.patch import patched_index_select
from quern.torch.rotary import apply_rotary, apply_rotary_emb, apply_rotary_pos_emb
