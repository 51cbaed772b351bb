"""Liger-Kernel's rope, swiglu, geglu and embedding by quern's kernels.

    import quern.torch.liger
    quern.torch.liger.use()          # before liger_kernel.transformers is imported
    from liger_kernel.transformers import apply_liger_kernel_to_llama

Liger-Kernel reads its implementations from its own folders when liger_kernel.ops is imported, so `use` puts these in
their place there: modules that are imported afterwards have them.
"""
import sys

import torch

_ops = torch.ops.quern

__all__ = ["LigerEmbeddingFunction", "LigerGELUMulFunction", "LigerRopeFunction", "LigerSiLUMulFunction"]


def _gated(a, b, activation):
    return _ops.glu(a, b, layout="split", activation=activation, rounding="torch")[0]


class LigerSiLUMulFunction:
    """silu(gate_multiplier * a) * b * down_multiplier."""

    @staticmethod
    def apply(a, b, gate_multiplier=1.0, down_multiplier=1.0):
        result = _gated(a if gate_multiplier == 1.0 else a * gate_multiplier, b, "silu")
        return result if down_multiplier == 1.0 else result * down_multiplier


class LigerGELUMulFunction:
    """gelu(a) * b, by the formula with tanh."""

    @staticmethod
    def apply(a, b):
        return _gated(a, b, "gelu_tanh")


class LigerEmbeddingFunction:
    """Rows of a table, [rows, dim], for indices of any shape."""

    @staticmethod
    def apply(embeddings, indices):
        rows = _ops.embedding([embeddings.contiguous()], indices.reshape(-1, 1))[0]
        return rows.view(*indices.shape, embeddings.shape[1])


class LigerRopeFunction:
    """q and k of [batch, heads, seq, head_dim] rotated as Hugging Face's Llama does; cos and sin of [1 or batch, seq, d],
    each number twice, or once where rotary_dim says so. An odd head_dim keeps its last element;
    its table is one wider."""

    @staticmethod
    def apply(q, k, cos, sin, position_ids=None, unsqueeze_dim=1, rotary_dim=None):
        width = cos.shape[-1]
        rotary = width if rotary_dim is None else rotary_dim
        if rotary_dim is None and width == q.shape[-1] + 1 and width % 2 == 0:
            rotary, width = width - 2, width // 2 - 1
            cos, sin = cos[..., :width], sin[..., :width]
        # An operand's dimensions are batch, seq, heads, head_dim in any order of memory.
        q, k = q.transpose(1, 2), k.transpose(1, 2)
        settings = dict(rotary_dim=rotary, table="separate" if 2 * width == rotary else "doubled")
        if not (q.is_contiguous() and k.is_contiguous()):
            settings["layout"] = "bhsd"
            q, k = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k))
        if cos.dim() == 3 and cos.shape[0] != 1:
            settings["position"] = "tokens"
        cos, sin = (t.reshape(-1, width).contiguous() for t in (cos, sin))
        if settings.get("position") != "tokens":
            settings["table_rows"] = cos.shape[0]
        q_out, k_out = _ops.rope(q, k, cos=cos, sin=sin, **settings)
        return q_out.transpose(1, 2), k_out.transpose(1, 2)


def use():
    """Puts these functions into liger_kernel.ops. Raises RuntimeError if a module has taken Liger-Kernel's already."""
    late = [m for m in sys.modules if m.startswith("liger_kernel.transformers.")]
    if late:
        raise RuntimeError(f"call quern.torch.liger.use() before importing liger_kernel.transformers ({late[0]} is loaded)")
    import liger_kernel.ops

    for name in __all__:
        setattr(liger_kernel.ops, name, globals()[name])
