"""torch.ops.quern.*: schemas, fakes, autograd and torch.compile of each family, by torch's own opcheck."""
import pydoc
import warnings

import torch
from support import DEVICE, TorchTest, ints, main, rand, routing_mask
from torch.library import opcheck

import quern.torch
from quern.torch import _fake
from quern.torch._schema import FAMILIES

_ops = torch.ops.quern


def _routing(tokens=12, experts=4, topk=2):
    made = _ops.moe_map(routing_mask(tokens, experts, topk), map_="mask", experts=experts, topk=topk)
    return dict(token_rows=made[2], experts=experts, topk=topk, capacity=tokens * topk), made[3]


def _cases():
    index = ints([3, 1, 7, 3], torch.int64)
    routing, token_experts = _routing()
    angles = rand(5, 16)
    table = dict(cos=angles.cos(), sin=angles.sin())
    sizes, order = ints([2, 5, 3]), ints([2, 0, 1])
    # As bits: torch's own check computes with its inputs, and not with these types.
    quantized = [t.view(torch.uint8) for t in _ops.mxfp8(rand(64, 64))]
    return [
        ("gather", [rand(10, 6, grad=True), index], {}),
        ("gather", [rand(10, 6), index], dict(mode="zero")),
        ("scatter", [rand(3, 6, grad=True), ints([4, 1, 2], torch.int64)], dict(rows=10)),
        ("pointwise", [rand(4, 16, grad=True), None, rand(16, grad=True)], dict(activation="silu")),
        ("pointwise_program", [[rand(4, 16, grad=True), rand(4, 16, grad=True)]], dict(expr="p = silu(x) * y; q = x - y", dtype="f32")),
        ("pointwise_program", [[rand(4, 16, grad=True), rand(16)]], dict(expr="b: row; m: number; out = x * m + b", number_0=0.5)),
        ("pointwise_program", [[rand(4, 16, grad=True), rand(16, grad=True)]], dict(expr="w: row; y = x * w; s = sum(x * w)", dtype="f32")),
        ("glu", [rand(4, 16, grad=True)], dict(activation="gelu")),
        ("glu", [rand(4, 16, grad=True), None, rand(16, grad=True)], {}),
        ("glu", [rand(4, 16), rand(4, 16)], dict(layout="split")),
        ("glu", [rand(32, 128)], dict(scaling="mx")),
        ("rope", [rand(2, 5, 4, 32, grad=True), rand(2, 5, 2, 32, grad=True)], table),
        ("concat", [[rand(3, 4, grad=True), rand(3, 2, grad=True)]], {}),
        ("interaction", [rand(3, 4, 8, grad=True)], {}),
        ("interaction", [rand(3, 4, 5, grad=True)], dict(dense=5, diagonal=1)),
        ("interaction", [rand(3, 2, 3, grad=True)], dict(form="outer")),
        ("interaction", [rand(3, 2, 3, grad=True)], dict(form="upper", diagonal=1)),
        ("chunk_sort", [rand(10, 6, grad=True), sizes, order], {}),
        ("chunk_sort", [rand(10, 6, grad=True), sizes, order, rand(10, grad=True)], {}),
        ("index_sort", [index], dict(rows=10)),
        ("hash_table", [index], {}),
        ("hash_table", [index, _ops.hash_table(index)], dict(op="find")),
        ("row_pad", [rand(10, 6, grad=True), ints([4, 10])], dict(align=4)),
        ("multi_row_pad", [[rand(3, 4, grad=True), rand(5, 8, grad=True)]], dict(align=4)),
        ("scatter", [rand(3, 6, grad=True), ints([4, 1, 2], torch.int64)], dict(op="add", scale=rand(6, grad=True), rows=10)),
        ("concat", [[rand(3, 4, grad=True), rand(3, 2, grad=True)], [ints([1, 1, 2])] * 2], dict(source_rows=[3, 3])),
        ("embedding", [[rand(5, 4, grad=True), rand(3, 2, grad=True)], ints([[1, 2], [4, 0], [1, 2]])], {}),
        ("embedding", [[rand(5, 4, grad=True)], ints([1, 1, 4, 0]), ints([0, 3])], dict(pooling="max", batch=2)),
        ("embedding", [[rand(5, 4, grad=True)], ints([1, 1, 4, 0])], dict(pooling="sum", batch=2, bags="lengths", lengths=ints([3, 1]))),
        ("embedding", [[rand(5, 4), rand(3, 2)], ints([[1, 2], [4, 0], [1, 2]])], dict(scaling="mx")),
        ("moe_map", [routing_mask(12, 4, 2)], dict(map_="mask", experts=4, topk=2)),
        ("moe_permute", [rand(12, 16, grad=True)], routing),
        ("moe_permute", [rand(12, 16, grad=True)], dict(routing, probs=rand(12, 4, grad=True), token_experts=token_experts, prob_layout="experts")),
        ("moe_permute", [rand(12, 16, grad=True)], dict(routing, scale=rand(12, grad=True))),
        ("moe_permute", [rand(12, 16, grad=True)], dict(routing, scale=rand(12, 2, grad=True), scale_of="routes", probs=rand(12, 2, grad=True))),
        ("moe_unpermute", [rand(24, 16, grad=True)], routing),
        ("moe_unpermute", [rand(24, 16, grad=True)], dict(routing, probs=rand(12, 2, grad=True))),
        ("mxfp8", [rand(64, 64)], dict(direction="both")),
        ("mxfp8_dequantize", [quantized[0], quantized[1]], dict(dtype="f32", element="e4m3")),
        ("mx_scales", [quantized[1]], dict(rows=64, cols=64)),
    ]  # fmt: skip


class _Stopped(torch.autograd.Function):
    """Results that are used, and whose gradients are not defined."""

    @staticmethod
    def forward(ctx, *results):
        return tuple(r.clone() for r in results)

    @staticmethod
    def backward(ctx, *gradients):
        return (None,) * len(gradients)


def _needing(inputs, settings):
    """The tensors of a case that need a gradient."""
    flat = [t for v in (*inputs, *settings.values()) for t in (v if isinstance(v, list) else [v])]
    return [t for t in flat if isinstance(t, torch.Tensor) and t.requires_grad]


def _replaced(values, tensors):
    """Values with the next tensors in the places of those that need a gradient."""
    return [
        _replaced(v, tensors) if isinstance(v, list) else next(tensors) if isinstance(v, torch.Tensor) and v.requires_grad else v
        for v in values
    ]


def _detached(value):
    return [_detached(v) for v in value] if isinstance(value, list) else value.detach() if isinstance(value, torch.Tensor) else value


def _bits(tensor):
    return tensor.contiguous().view(torch.uint8)


def _results_of(name, inputs, settings, made):
    """The tensors that were made, by the names of the results; a list where the operand is one."""
    family = FAMILIES[name]
    names = [o["name"] for o in family.inputs]
    given = {**dict(zip(names, inputs)), **{n: v for n, v in settings.items() if n in names}}
    given = {n: v for n, v in given.items() if v is not None}
    problem = _fake._Problem(family, given, {n: v for n, v in settings.items() if n not in names})
    lists = {o["name"]: o["is_list"] for o in family.results}
    places = [p["name"].split(".")[0] for p in problem.places if p["role"] != "workspace"]
    results, rest = {}, iter(made)
    for place in places:
        if place in lists:
            results.setdefault(place, []).append(next(rest))
    return {n: v if lists[n] else v[0] for n, v in results.items()}


def _zeros(value):
    if isinstance(value, list):
        return [_zeros(v) for v in value]
    made = torch.zeros_like(value)
    return made.view(torch.uint8) if made.element_size() == 1 else made  # as bits, as the inputs of _cases


class Operators(TorchTest):
    def test_gradients_that_are_not_defined_give_none(self):
        for name, inputs, settings in _cases():
            needing = _needing(inputs, settings)
            if not needing:
                continue
            with self.subTest(name, settings=sorted(settings)):
                made = getattr(_ops, name)(*inputs, **settings)
                made = [made] if isinstance(made, torch.Tensor) else made
                made = [m for m in made if m.requires_grad]
                total = sum(m.sum() for m in _Stopped.apply(*made)) + sum(t.sum() for t in needing)
                for gradient, tensor in zip(torch.autograd.grad(total, needing), needing):
                    self.assertClose(gradient, torch.ones_like(tensor))

    def test_a_gradient_of_one_result_takes_zeros_for_the_others(self):
        for name, inputs, settings in _cases():
            needing = _needing(inputs, settings)
            made = getattr(_ops, name)(*inputs, **settings) if needing else []
            made = [m for m in made if m.requires_grad] if isinstance(made, list) else []
            for i in range(len(made) if len(made) > 1 else 0):
                with self.subTest(name, settings=sorted(settings), result=i):
                    gradients = [torch.ones_like(m) if k == i else torch.zeros_like(m) for k, m in enumerate(made)]
                    expected = torch.autograd.grad(made, needing, gradients, retain_graph=True, allow_unused=True)
                    got = torch.autograd.grad(made[i].sum(), needing, retain_graph=True, allow_unused=True)
                    for a, b in zip(got, expected):
                        self.assertClose(a, b)

    def test_each_family_passes_opcheck(self):
        seen = set()
        for name, inputs, settings in _cases():
            with self.subTest(name, settings=sorted(settings)):
                opcheck(getattr(_ops, name).default, inputs, settings)
                seen.add(name)
        self.assertEqual(seen, set(FAMILIES), "a family without a case")

    def test_gradcheck_of_each_family_with_a_gradient(self):
        """In fp32, so with wide tolerances; what moves rows is linear, and is compared in fp64 below."""
        seen = set()
        for name, inputs, settings in _cases():
            needing = _needing(inputs, settings)
            if not needing:
                continue

            def function(*tensors):
                rest = iter(tensors)
                made = getattr(_ops, name)(*_replaced(inputs, rest), **dict(zip(settings, _replaced(list(settings.values()), rest))))
                return [m for m in ([made] if isinstance(made, torch.Tensor) else made) if m.requires_grad]

            with self.subTest(name, settings=sorted(settings)), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of inputs that are not fp64
                self.assertTrue(torch.autograd.gradcheck(function, needing, eps=1e-2, atol=2e-2, rtol=2e-2, fast_mode=True))
                seen.add(name)
        differentiable = "gather scatter pointwise pointwise_program glu rope concat interaction chunk_sort row_pad multi_row_pad moe_permute moe_unpermute embedding".split()
        self.assertEqual(seen, set(differentiable))

    def test_gradcheck_in_fp64(self):
        def double(*shape):
            return rand(*shape, dtype=torch.float64, grad=True)

        index, ends = ints([4, 1, 2], torch.int64), ints([4, 10])
        for function, inputs in (
            (lambda x: _ops.scatter(x, index, rows=10)[0], [double(3, 6)]),
            (lambda x, y: _ops.concat([x, y])[0], [double(3, 4), double(3, 2)]),
            (lambda x: _ops.row_pad(x, ends, align=4)[0], [double(10, 6)]),
            (lambda x: _ops.gather(x, index), [double(5, 6)]),
        ):
            self.assertTrue(torch.autograd.gradcheck(function, inputs))

    def test_out_variants_write_given_results(self):
        x, index = rand(10, 6), ints([3, 1], torch.int64)
        out = torch.zeros(2, 6, device=DEVICE)
        _ops.gather_out(x, index, out=out)
        self.assertClose(out, x[index])
        opcheck(_ops.gather_out.default, (x, index), dict(out=out))

    def test_each_out_variant_passes_opcheck_and_writes_the_same(self):
        seen = set()
        for name, inputs, settings in _cases():
            with self.subTest(name, settings=sorted(settings)), torch.no_grad():
                inputs = [_detached(v) for v in inputs]
                settings = {n: _detached(v) for n, v in settings.items()}
                made = getattr(_ops, name)(*inputs, **settings)
                made = [made] if isinstance(made, torch.Tensor) else made
                given = {"mode_" if n == "mode" else n: v for n, v in settings.items()}
                expected = _results_of(name, inputs, settings, made)
                named = {n: _zeros(v) for n, v in expected.items()}
                op = getattr(_ops, f"{name}_out").default
                op(*inputs, **given, **named)
                for result, value in named.items():
                    for got, wanted in zip(*(v if isinstance(v, list) else [v] for v in (value, expected[result]))):
                        self.assertTrue(torch.equal(_bits(got), _bits(wanted)), result)
                opcheck(op, inputs, dict(given, **named))
                seen.add(name)
        self.assertEqual(seen, set(FAMILIES), "a family without a case")

    def test_shapes_stay_symbolic(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()  # other files of tests compile too
        compiled = torch.compile(lambda x, i: _ops.gather(x, i) * 2, fullgraph=True, backend="aot_eager", dynamic=True)
        x = rand(10, 6)
        for count in (3, 5, 8):
            index = ints(list(range(count)), torch.int64)
            self.assertClose(compiled(x, index), x[index] * 2)
        self.assertLessEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], 1)

    def test_help_is_of_the_familys_table(self):
        for name, family in FAMILIES.items():
            for operator in (getattr(_ops, name), getattr(_ops, f"{name}_out")):
                text = pydoc.render_doc(operator)
                self.assertIn(quern.families()[family.family]["sentence"], text)
                for operand in (*family.inputs, *family.results):
                    self.assertIn(operand["sentence"], text)
                self.assertNotIn("packet", operator.__doc__)

    def test_meta_tensors(self):
        made = _ops.gather(torch.empty(10, 6, device="meta"), torch.empty(3, dtype=torch.int64, device="meta"))
        self.assertEqual((made.shape, made.device.type), ((3, 6), "meta"))

    def test_refusals_name_the_operand(self):
        with self.assertRaisesRegex(RuntimeError, r"source has shape \[10, 6\]; this problem takes \[10, 7\]"):
            _ops.gather(rand(10, 6), ints([1], torch.int64), width=7)


if __name__ == "__main__":
    main()
