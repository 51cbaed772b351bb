"""quern.torch's functions beside the eager formula, with their gradients, compiled and not."""
import contextlib
import inspect
import typing

import torch
from support import DEVICE, TorchTest, ints, main, rand, routing_mask

import quern.torch as qt

TOKENS, EXPERTS, HIDDEN, TOPK = 12, 4, 16, 2


class Mixture(TorchTest):
    def setUp(self):
        super().setUp()
        self.mask = routing_mask(TOKENS, EXPERTS, TOPK)
        self.x = rand(TOKENS, HIDDEN, grad=True)
        self.probs = rand(TOKENS, EXPERTS).abs().requires_grad_()
        self.order = torch.cat([self.mask[:, e].nonzero()[:, 0] for e in range(EXPERTS)])

    def by_expert(self, probs):
        return torch.cat([probs[self.mask[:, e], e] for e in range(EXPERTS)])

    def test_permute(self):
        permuted, _ = qt.moe_permute(self.x, self.mask, TOKENS * TOPK)
        self.assertSameGradients(permuted, self.x[self.order], (self.x,))

    def test_permute_with_probs(self):
        out, out_probs, _ = qt.moe_permute_with_probs(self.x, self.probs, self.mask, TOKENS * TOPK)
        expected = (self.x[self.order], self.by_expert(self.probs))
        self.assertSameGradients((out, out_probs), expected, (self.x, self.probs))

    def test_permute_and_pad(self):
        counts = self.mask.sum(0).cpu()
        out, _, routing, offsets, target = qt.moe_permute_and_pad_with_probs(self.x, self.probs, self.mask, counts, 8)
        rows = []
        for e in range(EXPERTS):
            of_expert = self.x[self.mask[:, e]]
            padding = torch.zeros(int(target[e]) - len(of_expert), HIDDEN, device=DEVICE)
            rows.append(torch.cat([of_expert, padding]))
        self.assertSameGradients(out, torch.cat(rows), (self.x,))
        self.assertIsNone(offsets)
        self.assertEqual(target.tolist(), [-(-int(c) // 8) * 8 for c in counts])
        self.assertClose(qt.moe_unpermute(out.detach(), routing), self.x * TOPK)

    def test_counts_on_the_device_give_an_upper_bound(self):
        counts = self.mask.sum(0)
        out, _, routing, _, _ = qt.moe_permute_and_pad_with_probs(self.x, self.probs, self.mask, counts, 8, topk=TOPK)
        if DEVICE == "cuda":
            self.assertEqual(out.shape[0], TOKENS * TOPK + EXPERTS * 7)
        self.assertEqual(routing.counts.tolist(), counts.tolist())

    def test_unpermute_with_probs(self):
        _, routing = qt.moe_permute(self.x, self.mask, TOKENS * TOPK)
        rows = rand(TOKENS * TOPK, HIDDEN, grad=True)
        got = qt.moe_unpermute(rows, routing, self.probs)
        weighted = rows * self.by_expert(self.probs)[:, None]
        expected = torch.zeros(TOKENS, HIDDEN, device=DEVICE).index_add(0, self.order, weighted)
        self.assertSameGradients(got, expected, (rows, self.probs), atol=1e-4)

    def test_unpermute_restores_a_shape(self):
        permuted, routing = qt.moe_permute(self.x, self.mask, TOKENS * TOPK)
        made = qt.moe_unpermute(permuted, routing, restore_shape=torch.Size([3, TOKENS // 3, HIDDEN]))
        self.assertClose(made, (self.x * TOPK).view(3, TOKENS // 3, HIDDEN))
        with self.assertRaises(RuntimeError):
            qt.moe_unpermute(permuted, routing, restore_shape=[TOKENS, HIDDEN + 1])

    def test_permute_by_ids(self):
        ids = torch.stack([row.nonzero()[:, 0] for row in self.mask]).to(torch.int32)
        permuted, _ = qt.moe_permute(self.x, ids, map_type="index", num_experts=EXPERTS)
        self.assertClose(permuted, self.x[self.order])

    def test_sort_chunks(self):
        sizes, index = ints([3, 5, 4]), ints([2, 0, 1])
        numbers = rand(TOKENS, grad=True)
        got = qt.moe_sort_chunks_by_index_with_probs(self.x, numbers, sizes, index)
        expected = [torch.cat([t[8:], t[:3], t[3:8]]) for t in (self.x, numbers)]
        self.assertSameGradients(got, expected, (self.x, numbers))


def rotated(x, cos, sin, interleaved):
    rotary = 2 * cos.shape[-1]
    part, rest = x[..., :rotary], x[..., rotary:]
    cos, sin = cos[None, : x.shape[1], None], sin[None, : x.shape[1], None]
    if interleaved:
        a, b = part[..., ::2], part[..., 1::2]
        return torch.cat([torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2), rest], -1)
    a, b = part.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


class Rotary(TorchTest):
    def setUp(self):
        super().setUp()
        self.q, self.cos, self.sin = rand(2, 6, 3, 16, grad=True), rand(10, 4), rand(10, 4)

    def test_both_styles(self):
        for interleaved in (False, True):
            got = qt.apply_rotary_emb(self.q, self.cos, self.sin, interleaved=interleaved)
            self.assertSameGradients(got, rotated(self.q, self.cos, self.sin, interleaved), (self.q,))

    def test_another_name(self):
        self.assertIs(qt.apply_rotary, qt.apply_rotary_emb)

    def test_offsets(self):
        expected = rotated(self.q, self.cos[3:], self.sin[3:], False)
        for offset in (3, ints([3, 3])):
            self.assertClose(qt.apply_rotary_emb(self.q, self.cos, self.sin, seqlen_offsets=offset), expected)

    def test_in_place(self):
        q = self.q.detach().clone()
        self.assertIs(qt.apply_rotary_emb(q, self.cos, self.sin, inplace=True), q)
        self.assertClose(q, rotated(self.q, self.cos, self.sin, False))

    def test_sequences_of_different_lengths(self):
        q = rand(6, 3, 16)
        got = qt.apply_rotary_emb(q, self.cos, self.sin, cu_seqlens=ints([0, 2, 6]))
        parts = [rotated(part[None], self.cos, self.sin, False)[0] for part in (q[:2], q[2:])]
        self.assertClose(got, torch.cat(parts))

    def test_transformer_engines_form(self):
        t, freqs = rand(6, 2, 3, 16, grad=True), rand(6, 1, 1, 8)
        x = t.transpose(0, 1)
        cos, sin = freqs[:, 0, 0].cos()[None, :, None], freqs[:, 0, 0].sin()[None, :, None]
        turned = torch.cat([-x[..., 4:8], x[..., :4]], -1)
        expected = torch.cat([x[..., :8] * cos + turned * sin, x[..., 8:]], -1).transpose(0, 1)
        self.assertSameGradients(qt.apply_rotary_pos_emb(t, freqs), expected, (t,))


class Quantization(TorchTest):
    def test_both_directions_have_torchaos_layouts(self):
        x = rand(64, 96)
        rowwise, colwise, scales, scales_col = qt.mxfp8_quantize(x, True, True)
        self.assertEqual((colwise.shape, colwise.stride()), ((64, 96), (1, 64)))
        self.assertEqual((scales.shape, scales_col.shape, scales_col.stride()), ((64, 3), (96, 2), (1, 96)))
        self.assertClose(qt.mxfp8_dequantize(rowwise, scales, torch.float32), x, atol=0.3)

    def test_three_dimensions(self):
        out, scales = qt.mxfp8_quantize_3d(rand(3, 64, 96))
        self.assertEqual((out.shape, out.stride(), scales.shape), ((3, 64, 96), (6144, 1, 64), (3, 2, 96)))
        square = qt.mxfp8_quantize_3d(rand(3, 64, 96), square_blocks=True)
        self.assertEqual(square[1].shape, (3, 2, 3))


    def test_values_by_columns_and_of_three_dimensions(self):
        def numbers(data, scales, dim):
            return data.float() * scales.float().repeat_interleave(32, dim)

        x = rand(64, 96)
        _, colwise, _, scales = qt.mxfp8_quantize(x, False, True)
        rows, _, scales_of_rows, _ = qt.mxfp8_quantize(x.t().contiguous())
        self.assertTrue(torch.equal(colwise.float(), rows.float().t()))
        self.assertTrue(torch.equal(scales.float(), scales_of_rows.float()))
        self.assertClose(numbers(colwise, scales.t(), 0), x, atol=0.3)
        both = qt.mxfp8_quantize(x, True, True)
        self.assertTrue(torch.equal(both[1].float(), colwise.float()) and torch.equal(both[3].float(), scales.float()))
        cube = rand(3, 64, 96)
        out, scales = qt.mxfp8_quantize_3d(cube)
        for e in range(3):
            _, expected, _, expected_scales = qt.mxfp8_quantize(cube[e].contiguous(), False, True)
            self.assertTrue(torch.equal(out[e].float(), expected.float()))
            self.assertTrue(torch.equal(scales[e].float(), expected_scales.float().t()))
        self.assertClose(numbers(out, scales, 1), cube, atol=0.3)

    def test_the_straight_through_gradient_of_each_mode(self):
        for mode, largest, clipped in (("rceil", 440, 0), ("rceil", 448, 0), ("rceil", 460, 0), ("floor", 440, 0),
                                       ("floor", 448, 0), ("floor", 460, 1), ("ceil", 460, 0)):  # fmt: skip
            x = torch.full((2, 64), 3.0, device=DEVICE)
            x[0, 5] = -largest
            x.requires_grad_()
            gradient = rand(2, 64)
            for masked in (False, True):
                with self.subTest(mode, largest=largest, masked=masked):
                    made = qt.mxfp8_fake_quantize(x, scaling_mode=mode, masked=masked)
                    expected = gradient.clone()
                    expected[0, 5] *= not (masked and clipped)
                    self.assertClose(torch.autograd.grad(made, x, gradient)[0], expected)

    def test_the_straight_through_gradient_of_numbers_that_are_not_finite(self):
        x, gradient = rand(2, 64), rand(2, 64)
        x[0, 5], x[1, 40], gradient[1, 40] = float("nan"), float("inf"), float("inf")
        x.requires_grad_()
        for mode in ("rceil", "floor"):
            made = qt.mxfp8_fake_quantize(x, scaling_mode=mode, masked=True)
            got, = torch.autograd.grad(made, x, gradient)
            self.assertFalse(got.isnan().any().item())
            self.assertClose(got[0], gradient[0])
            self.assertClose(got[1, :32], gradient[1, :32])

    def test_a_gradient_of_the_elements_is_refused_with_what_there_is(self):
        x = rand(32, 32, grad=True)
        out, _, scales, _ = qt.mxfp8_quantize(x)
        with self.assertRaisesRegex(RuntimeError, "quern.mxfp8 has no gradient.*mxfp8_fake_quantize"):
            out.float().sum().backward()
        with self.assertRaisesRegex(RuntimeError, "mxfp8_fake_quantize"):
            qt.mxfp8_dequantize(out, scales).sum().backward()


class Activations(TorchTest):
    def test_gated(self):
        x, gate, silu, gelu = rand(4, 16, grad=True), rand(4, 16, grad=True), torch.nn.functional.silu, torch.nn.functional.gelu
        self.assertSameGradients(qt.swiglu(x), silu(x[:, :8]) * x[:, 8:], (x,))
        self.assertSameGradients(qt.geglu(x, gate), gelu(x) * gate, (x, gate))
        self.assertSameGradients(qt.geglu(x, approximate="tanh"), gelu(x[:, :8], approximate="tanh") * x[:, 8:], (x,))

    def test_leading_dimensions_and_strides(self):
        silu = torch.nn.functional.silu
        for x in (rand(2, 3, 16), rand(8, 16)[::2], rand(16, 8).t(), rand(0, 16)):
            half = x.shape[-1] // 2
            self.assertClose(qt.swiglu(x), silu(x[..., :half]) * x[..., half:])

    def test_inference_mode_and_autocast(self):
        with torch.inference_mode(), torch.autocast(DEVICE, dtype=torch.bfloat16):
            self.assertEqual(qt.swiglu(rand(4, 16)).dtype, torch.float32)


class Autocast(TorchTest):
    """Operands of the types that products of bf16 and parameters of fp32 have, as eager promotes them."""

    def check(self, function, *inputs):
        for mode in (torch.enable_grad, torch.no_grad):
            with mode(), torch.autocast(DEVICE, dtype=torch.bfloat16):
                made = function(*inputs)
            self.assertEqual(made.dtype, torch.float32)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            made = function(*inputs)
        for tensor, gradient in zip(inputs, torch.autograd.grad(made.sum(), inputs)):
            self.assertEqual(gradient.dtype, tensor.dtype)

    def setUp(self):
        super().setUp()
        self.linear = torch.nn.Linear(16, 16, device=DEVICE)

    def test_linear_and_glu(self):
        def function(x, gate):
            rows = self.linear(x)
            self.assertEqual(rows.dtype, torch.bfloat16)
            made = qt.swiglu(rows, gate)
            self.assertClose(made, torch.nn.functional.silu(rows.float()) * gate)
            return made

        self.check(function, rand(4, 16, grad=True), rand(4, 16, grad=True))

    def test_linear_and_rope(self):
        cos, sin = rand(5, 8), rand(5, 8)
        self.check(
            lambda x, k: torch.ops.quern.rope(self.linear(x).view(1, 5, 1, 16), k, cos=cos, sin=sin)[0],
            rand(5, 16, grad=True), rand(1, 5, 1, 16, grad=True),
        )  # fmt: skip

    def test_linear_and_unpermute(self):
        _, routing = qt.moe_permute(rand(TOKENS, 16), routing_mask(TOKENS, EXPERTS, TOPK), topk=TOPK)
        common = dict(token_rows=routing.token_rows, experts=EXPERTS, topk=TOPK, capacity=routing.capacity)
        self.check(
            lambda x, residual: torch.ops.quern.moe_unpermute(self.linear(x), residual=residual, residual_="add", **common)[0],
            rand(TOKENS * TOPK, 16, grad=True), rand(TOKENS, 16, grad=True),
        )  # fmt: skip
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            rows = self.linear(rand(routing.capacity, 16))
            made = qt.moe_unpermute(rows, routing, rand(TOKENS, EXPERTS))
        self.assertEqual(made.dtype, torch.bfloat16)

    def test_lists(self):
        self.check(lambda x, y: torch.ops.quern.concat([self.linear(x), y])[0], rand(4, 16, grad=True), rand(4, 8, grad=True))

    def test_compiled(self):
        torch._dynamo.reset()
        x, gate = rand(4, 16, grad=True), rand(4, 16, grad=True)
        compiled = torch.compile(lambda x, gate: qt.swiglu(self.linear(x), gate), fullgraph=True, backend="aot_eager")
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            self.assertSameGradients(compiled(x, gate), qt.swiglu(self.linear(x), gate), (x, gate), atol=1e-2)

    def test_outside_of_autocast_they_are_refused(self):
        with self.assertRaisesRegex(RuntimeError, "gate is of f32; this problem takes bf16"):
            qt.swiglu(rand(4, 16, dtype=torch.bfloat16), rand(4, 16))


class Select(TorchTest):
    def test_every_dimension(self):
        x = rand(3, 7, 5, grad=True)
        for dim in (0, 1, 2, -2):
            index = ints([2, 0, 0], torch.int64)
            self.assertSameGradients(qt.index_select(x, dim, index), torch.index_select(x, dim, index), (x,))

    def test_gradcheck(self):
        x = rand(3, 4, dtype=torch.float64, grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda t: qt.index_select(t, 0, ints([1, 1, 0], torch.int64)), (x,)))


class Patches(TorchTest):
    def test_index_select_of_pytorch(self):
        x, index = rand(7, 5), ints([6, 0], torch.int64)
        with qt.patched_index_select(DEVICE):
            self.assertClose(torch.index_select(x, 0, index), x[index])
            with torch.profiler.profile() as profile:
                torch.index_select(x, 0, index)
            self.assertIn("quern::gather", {event.name for event in profile.events()})
        with torch.profiler.profile() as profile:
            torch.index_select(x, 0, index)
        self.assertNotIn("quern::gather", {event.name for event in profile.events()})

    def test_index_select_of_every_type(self):
        index = ints([2, 0, 2], torch.int64)
        for name in ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16",
                     "float32", "float64", "complex32", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
                     "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):  # fmt: skip
            dtype = getattr(torch, name)
            bits = torch.randint(0, 2, (3, 4 * dtype.itemsize), dtype=torch.uint8).to(DEVICE)
            x = bits.view(dtype)
            for dim in (0, 1):
                with self.subTest(name, dim=dim), qt.patched_index_select(DEVICE):
                    made = torch.index_select(x, dim, index)
                    expected = bits.view(3, 4, -1)[index] if dim == 0 else bits.view(3, 4, -1)[:, index]
                    self.assertEqual((made.dtype, made.shape[dim]), (dtype, 3))
                    self.assertTrue(torch.equal(made.contiguous().view(torch.uint8).flatten(), expected.flatten()))

    def test_what_index_select_of_pytorch_refuses(self):
        x = rand(3, 4)
        for given in ((x, 0, ints([[1, 2]], torch.int64)), (x, 2, ints([1])), (x, 0, rand(2)), (rand(1)[0], 0, ints([0, 0]))):
            for patch in (contextlib.nullcontext(), qt.patched_index_select(DEVICE)):
                with patch, self.assertRaises((IndexError, RuntimeError)):
                    torch.index_select(*given)

    def test_ligers_embedding(self):
        from quern.torch.liger import LigerEmbeddingFunction

        table, index = rand(9, 12, grad=True), ints([[3, 0, 8], [3, 3, 1]], torch.int64)
        self.assertSameGradients(LigerEmbeddingFunction.apply(table, index), torch.nn.functional.embedding(index, table), (table,))
        self.assertEqual(LigerEmbeddingFunction.apply(table, index[:0]).shape, (0, 3, 12))

    def test_ligers_functions(self):
        from quern.torch.liger import LigerGELUMulFunction, LigerRopeFunction, LigerSiLUMulFunction

        a, b, silu, gelu = rand(3, 8, grad=True), rand(3, 8, grad=True), torch.nn.functional.silu, torch.nn.functional.gelu
        self.assertSameGradients(LigerSiLUMulFunction.apply(a, b, 0.5, 2.0), 2 * silu(0.5 * a) * b, (a, b))
        self.assertSameGradients(LigerGELUMulFunction.apply(a, b), gelu(a, approximate="tanh") * b, (a, b))
        for contiguous in (False, True):
            for batch in (1, 2):
                self.check_rope(LigerRopeFunction, contiguous, batch)

    def check_rope(self, function, contiguous, batch):
        q, k = rand(2, 6, 4, 16, grad=True), rand(2, 6, 2, 16, grad=True)
        heads = [t.transpose(1, 2).contiguous() if contiguous else t.transpose(1, 2) for t in (q, k)]
        half = rand(batch, 6, 8)
        cos, sin = torch.cat([half.cos()] * 2, -1), torch.cat([half.sin()] * 2, -1)

        def expected(x):
            turned = torch.cat([-x[..., 8:], x[..., :8]], -1)
            return x * cos[:, None] + turned * sin[:, None]

        self.assertSameGradients(function.apply(*heads, cos, sin), [expected(t) for t in heads], (q, k))


class Types(TorchTest):
    def test_public_functions_have_annotations(self):
        functions = [f for name, f in vars(qt).items() if not name.startswith("_") and inspect.isfunction(f)]
        self.assertGreaterEqual(len(functions), 17)
        for function in functions:
            signature = inspect.signature(function)
            with self.subTest(function.__name__):
                self.assertIsNot(signature.return_annotation, signature.empty)
                for parameter in signature.parameters.values():
                    self.assertIsNot(parameter.annotation, parameter.empty, parameter.name)
                typing.get_type_hints(function)


class Compiled(TorchTest):
    """fullgraph, with symbolic sizes, forward and backward, bit for bit as eager."""

    def check(self, function, *arguments):
        torch._dynamo.reset()
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=True)
        inputs = [a for a in arguments if a.requires_grad]
        got, expected = compiled(*arguments), function(*arguments)
        self.assertTrue(torch.equal(got, expected))
        gradient = torch.randn_like(expected)
        for a, b in zip(torch.autograd.grad(got, inputs, gradient), torch.autograd.grad(expected, inputs, gradient)):
            self.assertTrue(torch.equal(a, b))

    def test_mixture(self):
        def layer(x, probs, mask):
            permuted, _, routing = qt.moe_permute_with_probs(x, probs, mask, topk=TOPK)
            return qt.moe_unpermute(permuted * 2, routing, probs)

        self.check(layer, rand(TOKENS, 16, grad=True), rand(TOKENS, EXPERTS, grad=True), routing_mask(TOKENS, EXPERTS, TOPK))

    def test_counts_of_every_kind(self):
        mask = routing_mask(TOKENS, EXPERTS, TOPK)
        x, probs = rand(TOKENS, 16, grad=True), rand(TOKENS, EXPERTS, grad=True)
        counts = mask.sum(0)
        for given in (counts.tolist(), counts.cpu(), counts):
            with self.subTest(type=type(given), device=getattr(given, "device", None)):

                def layer(x, probs, mask):
                    rows, _, routing, _, _ = qt.moe_permute_and_pad_with_probs(x, probs, mask, given, 8, topk=TOPK)
                    return qt.moe_unpermute(rows * 2, routing, probs)

                self.check(layer, x, probs, mask)

    def test_rows_of_a_routing_follow_the_tokens(self):
        torch._dynamo.reset()

        def count(x, mask):
            rows, _ = qt.moe_permute(x, mask, topk=TOPK)
            return (rows * rows.shape[0]).sum()

        compiled = torch.compile(count, fullgraph=True, backend="aot_eager", dynamic=True)
        for tokens in (12, 14, 9):
            x, mask = rand(tokens, 16, grad=True), routing_mask(tokens, EXPERTS, TOPK)
            gradient, = torch.autograd.grad(compiled(x, mask), x)
            self.assertClose(gradient, torch.full_like(x, TOPK * TOPK * tokens))

    def test_block(self):
        self.check(qt.swiglu, rand(4, 16, grad=True))
        self.check(lambda x: qt.mxfp8_fake_quantize(x, masked=True), rand(4, 64, grad=True))
        self.check(lambda q, c, s: qt.apply_rotary_emb(q, c, s), rand(2, 6, 3, 16, grad=True), rand(10, 4), rand(10, 4))
        self.check(lambda t, f: qt.apply_rotary_pos_emb(t, f), rand(6, 2, 3, 16, grad=True), rand(6, 1, 1, 8))
        self.check(lambda x, i: qt.index_select(x, 0, i), rand(7, 5, grad=True), ints([6, 0, 0], torch.int64))


if __name__ == "__main__":
    main()
