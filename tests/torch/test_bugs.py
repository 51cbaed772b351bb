"""Bugs that were found by reading and by use, one test each."""
import torch
from support import DEVICE, TorchTest, ints, main, rand, routing_mask

import quern.torch as qt
from quern.torch import liger

_ops = torch.ops.quern


class Bugs(TorchTest):
    def test_rotation_in_place_has_its_gradient(self):
        q, cos, sin = rand(1, 4, 2, 8, grad=True), rand(4, 4), rand(4, 4)
        gradient = torch.randn_like(q)
        apart, = torch.autograd.grad(qt.apply_rotary_emb(q, cos, sin), q, gradient)
        x = q * 1
        in_place, = torch.autograd.grad(qt.apply_rotary_emb(x, cos, sin, inplace=True), q, gradient)
        self.assertClose(in_place, apart)

    def test_a_leaf_is_rotated_in_place(self):
        q, cos, sin = rand(1, 4, 2, 8, grad=True), rand(4, 4), rand(4, 4)
        gradient = torch.randn_like(q)
        apart = qt.apply_rotary_emb(q, cos, sin)
        expected, = torch.autograd.grad(apart, q, gradient)
        in_place = qt.apply_rotary_emb(q, cos, sin, inplace=True)
        self.assertClose(q, apart)
        self.assertClose(torch.autograd.grad(in_place, q, gradient)[0], expected)

    def test_liger_with_an_odd_head_dim_keeps_the_last_element(self):
        q, k, table = rand(1, 2, 3, 41, grad=True), rand(1, 1, 3, 41), rand(1, 3, 42)
        got, _ = liger.LigerRopeFunction.apply(q, k, table.cos(), table.sin())
        angles = table[..., :20]
        even = torch.cat([angles, angles], -1)
        expected, _ = liger.LigerRopeFunction.apply(q[..., :40], k[..., :40], even.cos(), even.sin())
        self.assertClose(got[..., :40], expected)
        self.assertClose(got[..., 40], q[..., 40])

    def test_liger_with_another_table_than_the_heads_is_refused(self):
        q, k = rand(1, 2, 6, 8), rand(1, 2, 6, 8)
        for settings in ({}, dict(rotary_dim=4)):
            table = rand(1, 6, 8 if settings else 12)
            with self.assertRaises(RuntimeError):
                liger.LigerRopeFunction.apply(q, k, table.cos(), table.sin(), **settings)

    def test_factors_of_a_scatters_gradient_are_multiplied_from_left_to_right(self):
        gradient, source, scale = rand(9, 64), rand(5, 64), rand(64)
        index = ints([7, 0, 3, 8, 1], torch.int64)
        given = dict(gradient=gradient, scale=scale, op="add", factor="alpha", alpha=0.3, pass_="backward")
        made = _ops.scatter(source, index, **given)[0]
        self.assertTrue(torch.equal(made, gradient[index] * 0.3 * scale))

    def test_written_results_are_seen_by_autograd(self):
        x, cos, sin = rand(1, 4, 2, 8, grad=True), rand(4, 4), rand(4, 4)
        kept = x * 1
        y = kept * kept
        qt.apply_rotary_emb(kept.detach(), cos, sin, inplace=True)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()
        with self.assertRaisesRegex(RuntimeError, "has no gradient"):
            _ops.gather_out(rand(3, 4, grad=True), ints([1], torch.int64), out=torch.empty(1, 4, device=DEVICE))

    def test_sizes_that_problems_hold_are_guarded(self):
        for dynamic in (None, True):
            torch._dynamo.reset()
            compiled = torch.compile(lambda x, i: _ops.gather(x, i).sum() * _ops.gather(x, i).shape[-1], backend="aot_eager", dynamic=dynamic)
            for width in (64, 96, 128):
                got = compiled(torch.ones(5, width, device=DEVICE), ints([1, 2], torch.int64))
                self.assertEqual(got.item(), 2 * width * width)
            torch._dynamo.reset()
            quantized = torch.compile(lambda x: qt.mxfp8_quantize(x)[2].shape[1] * x.new_ones(1), backend="aot_eager", dynamic=dynamic)
            for cols in (64, 128, 256):
                self.assertEqual(quantized(rand(64, cols)).item(), cols // 32)

    def test_unused_rows_have_gradients_of_zero(self):
        mask, weight = routing_mask(16, 4, 2), rand(8, 8, grad=True)
        x = rand(16, 8, grad=True)
        rows, routing = qt.moe_permute(x, mask)
        out = qt.moe_unpermute(rows @ weight, routing)
        out.backward(torch.ones_like(out))
        expected = torch.zeros_like(weight)
        for t in range(16):
            expected += 2 * torch.outer(x[t].detach(), torch.ones(8, device=DEVICE))
        self.assertClose(weight.grad, expected, atol=1e-4)

    def test_rows_beyond_the_routes_are_zeros_with_a_number_of_rows(self):
        mask, rows = routing_mask(16, 4, 2), 48
        ids = torch.stack([row.nonzero()[:, 0] for row in mask]).to(torch.int32)
        for routing_map, settings in ((mask, {}), (ids, dict(map_type="index", num_experts=4))):
            x, weight = rand(16, 8, grad=True), rand(8, 8, grad=True)
            freed = [torch.full((rows, 8), float("nan"), device=DEVICE) for _ in range(20)]
            del freed
            out, routing = qt.moe_permute(x, routing_map, rows, **settings)
            self.assertEqual(out[32:].abs().sum().item(), 0)
            made = qt.moe_unpermute(out @ weight, routing)
            freed = [torch.full((rows, 8), float("nan"), device=DEVICE) for _ in range(20)]
            del freed
            made.backward(torch.ones_like(made))
            expected = 2 * x.detach().sum(0)[:, None].expand(8, 8)
            self.assertClose(weight.grad, expected.contiguous(), atol=1e-4)

    def test_complex_numbers_have_gradients(self):
        x = rand(5, 4, dtype=torch.complex64, grad=True)
        index = ints([1, 1, 3], torch.int64)
        self.assertSameGradients(_ops.gather(x, index), torch.index_select(x, 0, index), (x,))

    def test_only_the_probabilities_have_a_gradient(self):
        mask, probs = routing_mask(12, 4, 2), rand(12, 4, grad=True)
        _, out_probs, _ = qt.moe_permute_with_probs(rand(12, 8, grad=True), probs, mask, topk=2)
        gradient, = torch.autograd.grad(out_probs.sum(), probs)
        self.assertClose(gradient, mask.float())

    def test_what_a_backward_does_not_read_may_change(self):
        weight = rand(5, 4, grad=True)
        y = qt.index_select(weight, 0, ints([1, 1], torch.int64))
        with torch.no_grad():
            weight.add_(1)
        y.sum().backward()
        self.assertEqual(weight.grad[1, 0].item(), 2)

    def test_families_without_a_gradient_say_so(self):
        made = _ops.mxfp8_dequantize(*[t.detach() for t in _ops.mxfp8(rand(32, 32))], dtype="f32")
        self.assertFalse(made.requires_grad)
        with self.assertRaisesRegex(RuntimeError, "quern.mxfp8 has no gradient"):
            _ops.mxfp8(rand(32, 32, grad=True))[0].float().sum().backward()

    def test_a_scaled_sum_has_its_gradients(self):
        index = ints([4, 1, 4, 2], torch.int64)
        for scale_of, count in (("columns", 6), ("rows", 4)):
            source, scale = rand(4, 6, grad=True), rand(count, grad=True)
            settings = dict(op="add", scale_of=scale_of, factor="alpha", alpha=0.5, rows=7, rest="zero", order_="given")
            order = _ops.index_sort(index, rows=7)[0]
            got = _ops.scatter(source, index, order=order, scale=scale, **settings)[0]
            factors = scale if scale_of == "columns" else scale[:, None]
            expected = torch.zeros(7, 6, device=DEVICE).index_add(0, index, source * factors * 0.5)
            self.assertSameGradients(got, expected, (source, scale))

    def test_a_scatter_of_several_matrices_has_its_gradient(self):
        source, index = rand(2, 3, 4, grad=True), ints([4, 0, 2], torch.int64)
        got = _ops.scatter(source, index, rows=6, outer=2)[0]
        expected = torch.zeros(2, 6, 4, device=DEVICE).index_copy(1, index, source)
        self.assertSameGradients(got, expected, (source,))

    def test_rows_that_a_concat_picks_have_their_gradients(self):
        x, y = rand(5, 3, grad=True), rand(4, 2, grad=True)
        i, j = ints([1, 4, 1, 0], torch.int64), ints([3, 3, 3, 2], torch.int64)
        settings = dict(source_rows=[5, 4])
        got = _ops.concat([x, y], [i, j], **settings)[0]
        self.assertSameGradients(got, torch.cat([x[i], y[j]], 1), (x, y))
        got = _ops.concat([x, y], [i[:3], j], layout="flat", counts=[3, 4], **settings)[0]
        self.assertSameGradients(got, torch.cat([x[i[:3]].flatten(), y[j].flatten()]), (x, y))
        none = ints([1, -1, 1, 0], torch.int64)
        got = _ops.concat([x, y], [none, j], mode="minus_one_is_zero", **settings)[0]
        picked = x[none.clamp(0)] * (none >= 0)[:, None]
        self.assertSameGradients(got, torch.cat([picked, y[j]], 1), (x, y))

    def test_padded_matrices_have_their_gradients(self):
        x, y = rand(3, 4, grad=True), rand(5, 8, grad=True)
        padded = _ops.multi_row_pad([x, y], align=4)
        expected = [torch.nn.functional.pad(t, (0, 0, 0, -t.shape[0] % 4)) for t in (x, y)]
        self.assertSameGradients(padded, expected, (x, y))
        first, = torch.autograd.grad(_ops.multi_row_pad([x, y], align=4)[1].sum(), y)
        self.assertClose(first, torch.ones_like(y))
        a, b = rand(4, 4, grad=True), rand(8, 8, grad=True)
        self.assertSameGradients(_ops.multi_row_pad([a, b], direction="unpad", rows=[3, 5], align=4), [a[:3], b[:5]], (a, b))

    def test_index_select_takes_what_pytorchs_does(self):
        x = rand(3, 4)
        with self.assertRaises(IndexError):
            qt.index_select(x, 5, ints([1], torch.int64))
        self.assertEqual(qt.index_select(x > 0, 0, ints([1], torch.int64)).dtype, torch.bool)
        self.assertClose(qt.index_select(x, 0, ints(2, torch.int64)), torch.index_select(x, 0, ints(2, torch.int64)))


if __name__ == "__main__":
    main()
