"""Gradients of torch.ops.quern.*: each is an operator of this library again."""
import torch
from torch.autograd import forward_ad

from quern.torch import _programs
from quern.torch._fake import _NAMES as _DTYPE_NAMES
from quern.torch._ops import library
from quern.torch._schema import FAMILIES

_ops = torch.ops.quern


class _Unread:
    """An input that a backward does not read, of which it may ask the shape and the type."""

    def __init__(self, tensor):
        self.shape, self.dtype, self._stride = tensor.shape, tensor.dtype, tensor.stride()

    def stride(self):
        return self._stride


class _Call:
    """A forward's arguments: its inputs by name, a list where the operand is one, and the settings that were given."""

    def __init__(self, family, op, keyset, inputs, settings):
        self.op, self.keyset, self.settings = op, keyset, {n: v for n, v in settings.items() if v is not None}
        self.names = [o["name"] for o in family.inputs]
        self.inputs = dict(zip(self.names, inputs))
        for name in self.names:
            self.inputs.setdefault(name, None)

    def tensors(self):
        return [t for n in self.names for t in (self[n] if isinstance(self[n], list) else [self[n]]) if t is not None]

    def with_tensors(self, tensors):
        """The same call of other tensors."""
        rest, made = iter(tensors), {}
        for name, value in self.inputs.items():
            made[name] = [next(rest) for _ in value] if isinstance(value, list) else None if value is None else next(rest)
        copy = object.__new__(_Call)
        copy.__dict__.update(self.__dict__, inputs=made)
        return copy

    def flags(self, names):
        """For each tensor, whether it is an input of one of these names; of a list "inputs" or "inputs.2"."""
        flags = []
        for name, value in self.inputs.items():
            if isinstance(value, list):
                flags += [name in names or f"{name}.{i}" in names for i in range(len(value))]
            elif value is not None:
                flags.append(name in names)
        return flags

    def run(self):
        """Below autograd."""
        with torch._C._AutoDispatchBelowAutograd():
            return self.op.redispatch(
                self.keyset & torch._C._after_autograd_keyset, *self.inputs.values(), **self.settings
            )

    def __getitem__(self, name):
        return self.inputs[name]

    def others(self, *names):
        """The inputs but for these, for a backward that takes them as the forward did."""
        return {n: v for n, v in self.inputs.items() if n not in names and v is not None}


class _Differentiated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, backward, *tensors):
        ctx.backward, ctx.needs = backward, ctx.needs_input_grad[2:]
        ctx.set_materialize_grads(False)
        call = call.with_tensors(tensors)
        call.each_needs = ctx.needs
        result = call.run()
        read = call.flags(backward.reads(call))
        results = [result] if isinstance(result, torch.Tensor) else result
        ctx.kept_results = backward.keeps(call)
        ctx.save_for_backward(*[t for t, r in zip(tensors, read) if r], *[results[i] for i in ctx.kept_results])
        ctx.kept = [None if r else _Unread(t) for t, r in zip(tensors, read)]
        ctx.call = call.with_tensors([_Unread(t) for t in tensors])  # not the tensors, which a cycle would keep
        ctx.results = [_Unread(r) for r in results]
        ctx.mark_non_differentiable(*[r for r in results if not (r.is_floating_point() or r.is_complex())])
        return tuple(results)

    @staticmethod
    def backward(ctx, *gradients):
        if all(g is None for g in gradients):  # nothing arrives, so nothing goes on
            return (None, None, *[None] * len(ctx.needs))
        saved = iter(ctx.saved_tensors)
        call = ctx.call.with_tensors([next(saved) if k is None else k for k in ctx.kept])
        call.results = list(ctx.results)
        for i in ctx.kept_results:
            call.results[i] = next(saved)
        if call.settings.get("pass_", "forward") != "forward":
            raise RuntimeError(f"{call.op} with pass_={call.settings['pass_']!r} has no gradient of its own")
        call.needs = _needs(call, ctx.needs)
        made = ctx.backward(call, *gradients)
        flat = []
        for name, value in call.inputs.items():
            if isinstance(value, list):
                flat += made.get(name) or [None] * len(value)
            elif value is not None:
                flat.append(made.get(name))
        return (None, None, *[g if n else None for g, n in zip(flat, ctx.needs)])


def _needs(call, flags):
    """By name, whether an input needs its gradient."""
    flags, needs = iter(flags), {}
    for name, value in call.inputs.items():
        if value is not None:
            needs[name] = any([next(flags) for _ in value]) if isinstance(value, list) else next(flags)
    return needs


def _register(name, *reads, unless=None, keeps=None):
    """Registers a function of (call, *gradients of the results) that returns gradients by the inputs' names.

    reads: the inputs that it reads; of others it has shape and type. unless: (input, others): with that input others are
    read too; instead of an input a function of the call may say so, and instead of both one that returns the others.
    keeps: a function of the call that returns the places of the results that it reads.
    """
    family = FAMILIES[name]
    op = getattr(_ops, name).default

    def decorate(backward):
        def names(call):
            if unless is None:
                return set(reads)
            if callable(unless):
                return set(reads) | unless(call)
            more = unless[0](call) if callable(unless[0]) else call[unless[0]] is not None
            return set(reads) | (set(unless[1]) if more else set())

        backward.reads = names
        backward.keeps = keeps or (lambda call: [])

        def run(keyset, *inputs, **settings):
            if not _needs_gradient(inputs):
                with torch._C._AutoDispatchBelowAutograd():
                    return op.redispatch(keyset & torch._C._after_autograd_keyset, *inputs, **settings)
            call = _Call(family, op, keyset, inputs, settings)
            results = _Differentiated.apply(call, backward, *call.tensors())
            return results[0] if family.returns_one else list(results)

        library.impl(name, run, "Autograd", with_keyset=True)
        return backward

    return decorate


def _tensors(values):
    return [t for v in values for t in (v if isinstance(v, list) else (v,)) if isinstance(t, torch.Tensor)]


def _needs_gradient(values):
    """Whether autograd records a call of these arguments. Derivatives forward are refused, which would be zeros."""
    if forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(t).tangent is not None for t in _tensors(values)):
        raise RuntimeError("quern's operators have no forward-mode derivative (torch.func.jvp, jacfwd): use gradients")
    return torch.is_grad_enabled() and any(t.requires_grad for t in _tensors(values))


def _packed(gradient):
    return None if gradient is None else gradient.contiguous()


def _as(gradient, result, like):
    """The gradient with its dimensions in the same order of memory as those of the result that it is of; zeros if there
    is none. like: of the device."""
    if gradient is not None and gradient.stride() == result.stride():
        return gradient
    made = torch.empty_strided(result.shape, result.stride(), dtype=result.dtype, device=like.device)
    return made.zero_() if gradient is None else made.copy_(gradient)


def _present(gradients):
    return next(g for g in gradients if g is not None)


def _as_index(saved, rows):
    """The rows that a gather read, as a scatter takes them."""
    mode, index = saved.settings.get("mode", "assume_valid"), saved["index"]
    if mode == "clamp":
        return index.clamp(0, rows - 1), "assume_valid"
    if mode == "wrap_negative":
        return torch.where(index < 0, index + rows, index), "assume_valid"
    return index, "assume_valid" if mode == "assume_valid" else "skip"


@_register("gather", "index", "scale", unless=("scale", ("source",)))
def _gather(saved, gradient):
    if gradient is None:
        return {}
    source, scale = saved["source"], saved["scale"]
    outer = saved.settings.get("outer", 1)
    rows = source.shape[:-1].numel() if outer == 1 else source.shape[-2]
    index, mode = _as_index(saved, rows)
    gradient = _packed(gradient)
    made = {}
    if scale is not None and saved.needs["scale"]:
        where = dict(outer=outer, rows=rows) if outer != 1 else {}
        picked = _ops.gather(source, saved["index"], mode=saved.settings.get("mode"), **where)
        products = (gradient.float() * picked.float()).sum(-1)
        made["scale"] = products.reshape(-1, scale.shape[0]).sum(0).to(scale.dtype)
    if saved.needs["source"]:
        scaled = gradient if scale is None else (gradient.float() * scale.float()[:, None]).to(gradient.dtype)
        made["source"] = _added_up(scaled, index, mode, rows, outer).reshape(source.shape)
    return made


def _added_up(gradient, index, mode, rows, outer):
    """The sums of the rows that an index repeats."""
    if gradient.dtype not in (torch.float32, torch.float16, torch.bfloat16):  # what scatter adds
        shape = (outer, rows) if outer != 1 else (rows,)
        kept = (index >= 0) & (index < rows)
        inside = torch.where(kept, index, 0)
        masked = gradient * kept[:, None]
        return gradient.new_zeros(*shape, gradient.shape[-1]).index_add(-2, inside, masked)
    order = _ops.index_sort(index, rows=rows)[0]
    return _ops.scatter(
        gradient, index, order=order, op="add", order_="given", rest="zero", mode=mode, rows=rows, outer=outer
    )[0]


@_register("scatter", "index", "scale", unless=("scale", ("source",)))
def _scatter(saved, gradient, *_):
    if gradient is None:
        return {}
    if saved["scale"] is not None:
        return _scaled_sum(saved, gradient)
    outer = saved.settings.get("outer", 1)
    where = dict(outer=outer, rows=gradient.shape[-2]) if outer != 1 else {}
    mode = "zero" if saved.settings.get("mode") == "skip" else None
    picked = _ops.gather(_packed(gradient), saved["index"], mode=mode, **where)
    alpha = saved.settings.get("alpha", 1.0) if saved.settings.get("factor") == "alpha" else 1.0
    return {"source": picked if alpha == 1.0 else picked * alpha}


def _scaled_sum(saved, gradient):
    """Of a scatter with a scale. The gradients do not depend on the order of a sum."""
    settings = {n: v for n, v in saved.settings.items() if n not in ("order_", "rest")}
    given = dict(gradient=_packed(gradient), scale=saved["scale"], **dict(settings, pass_="backward"))
    return dict(zip(("source", "scale"), _ops.scatter(saved["source"], saved["index"], **given)))


def _refuse_quantized(name, saved):
    if saved.settings.get("scaling", "none") != "none" or saved.settings.get("element") is not None:
        raise RuntimeError(f"quern.{name} with quantized results has no gradient; differentiate the formula instead")


@_register("glu", "x", "gate", "bias", "scale", "counts")
def _glu(saved, gradient, *_):
    _refuse_quantized("glu", saved)
    wanted = [n for n in ("x", "gate", "bias", "scale") if saved[n] is not None]
    settings = dict(saved.settings, pass_="backward")
    if saved["bias"] is not None:
        settings["bias_gradient"] = str(saved["bias"].dtype).split(".")[-1]
    made = _ops.glu(**saved.others(), gradient=_as(gradient, saved.results[0], saved["x"]), **settings)
    return dict(zip(wanted, made))


@_register("pointwise_program", unless=_programs.reads, keeps=_programs.keeps)
def _pointwise_program(saved, *gradients):
    return {"inputs": _programs.gradients(saved, gradients)}


@_register("pointwise", "x", "y", "bias")
def _pointwise(saved, gradient, *_):
    settings = dict(saved.settings, pass_="backward")
    wanted = ["x"] + (["y"] if saved["y"] is not None else [])
    if saved["bias"] is not None:
        settings["bias_gradient"] = str(saved["bias"].dtype).split(".")[-1]
        wanted.append("bias")
    made = _ops.pointwise(**saved.others(), gradient=_as(gradient, saved.results[0], saved["x"]), **settings)
    return dict(zip(wanted, made))


@_register("rope", *[o["name"] for o in FAMILIES["rope"].inputs if o["name"] not in ("q", "k", "v")])
def _rope(saved, *gradients):
    _refuse_quantized("rope", saved)
    wanted = [n for n in ("q", "k") if saved[n] is not None]
    like = _present(gradients)
    given = {n: _as(g, r, like) for n, g, r in zip(wanted, gradients, saved.results)}
    made = _ops.rope(**given, **saved.others("q", "k", "v"), **dict(saved.settings, pass_="backward"))
    return dict(zip(wanted, made))


@_register("concat", "index")
def _concat(saved, gradient, *_):
    if saved["index"]:
        return {"sources": _picked_rows(saved, gradient)}
    widths = [source.shape[-1] for source in saved["sources"]]
    return {"sources": _ops.concat([], source=_packed(gradient), pass_="backward", **dict(saved.settings, widths=widths))}


@_register("interaction", "source")
def _interaction(saved, gradient, *_):
    given = _as(gradient, saved.results[0], saved["source"])
    made = _ops.interaction(saved["source"], gradient=given, **dict(saved.settings, pass_="backward"))
    return {"source": made[0]}


def _picked_rows(saved, gradient):
    """Of a concat with an index: its own pass takes indices that differ, and these may repeat."""
    widths = [source.shape[-1] for source in saved["sources"]]
    if saved.settings.get("layout") == "flat":
        sizes = [index.shape[0] * width for index, width in zip(saved["index"], widths)]
        parts = [p.reshape(-1, width) for p, width in zip(gradient.reshape(-1).split(sizes), widths)]
    else:
        parts = gradient.split(widths, -1)
    mode = "assume_valid" if saved.settings.get("mode", "assume_valid") == "assume_valid" else "skip"
    return [
        _added_up(part.contiguous(), index, mode, source.shape[0], 1)
        for part, index, source in zip(parts, saved["index"], saved["sources"])
    ]


def _reads_rows(call):
    """Whether the gradients of an embedding need the tables' rows."""
    return call["sample_weights"] is not None or call.settings.get("pooling") == "max"


@_register("embedding", "index", "offsets", "lengths", "sample_weights", unless=(_reads_rows, ("weights",)))
def _embedding(saved, gradient, *_):
    _refuse_quantized("embedding", saved)
    tables, dense = saved["weights"], saved["dense"]
    if saved.settings.get("layout") == "packed" and any(saved.needs.get(n) for n in ("packed", "sample_weights")):
        raise RuntimeError("quern.embedding with layout=packed has no gradient of rows; give the tables as a list")
    if not (saved.needs["weights"] or saved.needs.get("sample_weights")):
        return {"dense": gradient[..., : dense.shape[-1]]}
    settings = dict(saved.settings, pass_="backward", tables=len(tables))
    settings.update(rows=[t.shape[0] for t in tables], dim=[t.shape[1] for t in tables])
    settings["table_dtype"] = ",".join(_DTYPE_NAMES[t.dtype] for t in tables)
    if dense is not None:
        settings["dense_"] = dense.shape[-1]
    made = _ops.embedding(
        tables if _reads_rows(saved) else [],
        **saved.others("weights", "dense", "scales"),
        gradient=_as(gradient, saved.results[0], saved["index"]),
        **settings,
    )
    found, rest = {"weights": made[: len(tables)]}, iter(made[len(tables) :])
    for name in ("dense", "sample_weights"):
        if saved[name] is not None:
            found[name] = next(rest)
    return found


@_register("multi_row_pad")
def _multi_row_pad(saved, *gradients):
    like = _present(gradients)
    given = [_as(g, r, like) for g, r in zip(gradients, saved.results)]
    sources, results = ([t.shape[0] for t in tensors] for tensors in (saved["sources"], saved.results))
    pads = saved.settings.get("direction", "pad") == "pad"
    rows, padded = (sources, results) if pads else (results, sources)
    cols = [t.shape[1] for t in saved["sources"]]
    settings = dict(direction="unpad" if pads else "pad", rows=rows, padded_rows=padded, cols=cols)
    others = {n: v for n, v in saved.settings.items() if n != "align"}  # the padded rows say it
    return {"sources": _ops.multi_row_pad(given, **dict(others, **settings))}


@_register("chunk_sort", "sizes", "order")
def _chunk_sort(saved, gradient, gradient_of_probs=None, *_):
    return _moved("chunk_sort", saved, gradient, gradient_of_probs)


@_register("moe_permute", "token_rows", "token_experts", "pads", "scale", unless=("scale", ("source",)))
def _moe_permute(saved, gradient, gradient_of_probs=None, *_):
    _refuse_quantized("moe_permute", saved)
    return _moved("moe_permute", saved, gradient, gradient_of_probs)


def _moved(name, saved, gradient, gradient_of_probs):
    """Of an operator that moves rows, times a factor or not, and a probability with each: both go back the same way."""
    like = _present((gradient, gradient_of_probs))
    given = {"source": _as(gradient, saved.results[0], like)}
    if saved["probs"] is not None:
        given["probs"] = _as(gradient_of_probs, saved.results[1], like)
    wanted = [n for n in ("source", "probs", "scale") if saved.inputs.get(n) is not None]
    if "scale" in wanted:
        given["rows"] = saved["source"]
    made = getattr(_ops, name)(**given, **saved.others("source", "probs", "pads"), **dict(saved.settings, pass_="backward"))
    return dict(zip(wanted, made))


@_register("moe_unpermute", "token_rows", "token_experts", "pads", "probs", unless=("probs", ("source",)))
def _moe_unpermute(saved, gradient, *_):
    given = {} if saved["probs"] is None else {"rows": saved["source"]}
    settings = {n: v for n, v in saved.settings.items() if n != "residual_"}
    made = _ops.moe_unpermute(
        source=_packed(gradient), **given, **saved.others("source", "residual"), **dict(settings, pass_="backward")
    )
    found = dict(zip(("source", "probs"), made))
    if saved["residual"] is not None:
        found["residual"] = gradient
    return found


@_register("row_pad", "offsets")
def _row_pad(saved, gradient, *_):
    other = {"pad": "unpad", "unpad": "pad"}[saved.settings.get("direction", "pad")]
    settings = dict(saved.settings, direction=other, rows=saved["source"].shape[0] if other == "unpad" else gradient.shape[0])
    return {"source": _ops.row_pad(_packed(gradient), **saved.others("source"), **settings)[0]}


# Of families without a gradient, what there is instead.
_INSTEAD = {
    "mxfp8": ", as PyTorch would round that of an 8-bit result to 8 bits; quern.torch.mxfp8_fake_quantize has the "
    "straight-through gradient",
    "mxfp8_dequantize": " of its 8-bit source; quern.torch.mxfp8_fake_quantize has the straight-through gradient",
}


def _refuse(name):
    @_register(name)
    def backward(saved, *gradients):
        raise RuntimeError(f"quern.{name} has no gradient{_INSTEAD.get(name, '')}")


for _name in set(FAMILIES) - {
    "gather", "scatter", "glu", "pointwise", "pointwise_program", "rope", "concat", "chunk_sort", "moe_permute",
    "moe_unpermute", "row_pad", "multi_row_pad", "interaction", "embedding",
}:  # fmt: skip
    _refuse(_name)


def _write_given(name):
    """Written results are outside of the graph, so an operand that needs a gradient would lose it in silence."""
    op = getattr(_ops, f"{name}_out").default
    written = [r["name"] for r in FAMILIES[name].results]

    def run(keyset, *inputs, **settings):
        if any(t.is_conj() or t.is_neg() for t in _tensors(settings.get(n) for n in written)):
            raise RuntimeError(f"quern.{name}_out writes memory, and a result given to it is a conjugate or negative view")
        if _needs_gradient((*inputs, *settings.values())):
            raise RuntimeError(f"quern.{name}_out has no gradient; use quern.{name}, or torch.no_grad()")
        with torch._C._AutoDispatchBelowADInplaceOrView():
            op.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, *inputs, **settings)
        for value in (settings.get(n) for n in written):
            for tensor in value if isinstance(value, list) else [value] if value is not None else []:
                torch.autograd.graph.increment_version(tensor)

    for key in ("Autograd", "ADInplaceOrView"):  # in inference mode only the latter, for tensors with a version
        library.impl(f"{name}_out", run, key, with_keyset=True)


for _name in FAMILIES:
    _write_given(_name)
