"""Families that compute, against NumPy: pointwise, glu, interaction and rope."""
from support import *  # noqa: F403


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def silu_slope(x):
    return sigmoid(x) * (1 + x * (1 - sigmoid(x)))


class Pointwise(Case):
    def test_bias_act(self):
        x, bias = numbers(5, 8), numbers(8, seed=2)
        self.same(quern.pointwise(x, bias=bias), np.maximum(x + bias, 0))
        self.close(quern.pointwise(x, bias=bias, activation="silu"), silu(x + bias))

    def test_add_mul_act(self):
        x, y, bias = numbers(5, 8), numbers(5, 8, seed=2), numbers(8, seed=3)
        got = quern.pointwise(x, y, bias, op="add_mul_act", activation="sigmoid", multiplier=-0.5)
        self.close(got, sigmoid(x - 0.5 * y + bias))

    def test_alpha(self):
        x = numbers(5, 8)
        for alpha in (0.5, 0.01):
            got = quern.pointwise(x, bias_spread="none", activation="leaky_relu", alpha=alpha)
            self.close(got, np.where(x > 0, x, alpha * x))

    def test_bf16(self):
        x, bias = numbers(5, 8, dtype=bf16), numbers(8, seed=2, dtype=bf16)
        self.same(quern.pointwise(x, bias=bias), np.maximum(x.astype(f32) + bias.astype(f32), 0).astype(bf16))

    def test_another_result_type(self):
        x, bias = numbers(5, 8), numbers(8, seed=2)
        self.same(quern.pointwise(x, bias=bias, out_dtype="f16"), np.maximum(x + bias, 0).astype(f16))

    def test_backward(self):
        x, y, gradient = numbers(5, 8), numbers(5, 8, seed=2), numbers(5, 8, seed=3)
        x_gradient, y_gradient = quern.pointwise(
            x, y, gradient=gradient, op="add_mul_act", activation="silu", bias_spread="none", pass_="backward",
            multiplier=2)
        want = gradient * silu_slope(x + 2 * y)
        self.close(x_gradient, want)
        self.close(y_gradient, 2 * want)

    def test_bias_gradient(self):
        x, bias, gradient = numbers(5, 8), numbers(8, seed=2), numbers(5, 8, seed=3)
        x_gradient, bias_gradient = quern.pointwise(
            x, bias=bias, gradient=gradient, pass_="backward", bias_gradient="f32")
        want = np.where(x + bias > 0, gradient, 0)
        self.close(x_gradient, want)
        self.close(bias_gradient, want.sum(0))


class PointwisePrograms(Case):
    def test_operands_numbers_and_outputs(self):
        x, b, c = numbers(3, 4), numbers(4, seed=2), numbers(3, seed=3)
        made = quern.pointwise(
            inputs=[x, b, c], number_0=-2,
            expr="b: row; c: column; m: number; a = max(x * m + b, c); d = x - 0.5")
        self.assertEqual(len(made), 2)
        self.same(made[0], np.maximum(x * f32(-2) + b, c[:, None]))
        self.same(made[1], x - f32(0.5))

    def test_in_place(self):
        x, y = numbers(3, 4), numbers(3, 4, seed=2)
        want = x * y + x
        quern.pointwise(inputs=[x, y], outputs=[x], expr="x = x * y + x")
        self.same(x, want)

    def test_refusals(self):
        x = numbers(3, 4)
        with self.assertRaisesRegex(quern.Error, r"1:7: "):
            quern.pointwise(inputs=[x], expr="out = gleu(x)")
        with self.assertRaisesRegex(quern.Error, "out overlaps x"):
            quern.pointwise(inputs=[x[:2]], outputs=[x[1:]], expr="out = x")

class Interaction(Case):
    x = numbers(5, 9, 12)
    rows, columns = np.tril_indices(9, -1)

    def test_pairs_after_the_dense_numbers(self):
        pairs = np.einsum("bik,bjk->bij", self.x, self.x)
        self.close(quern.interaction(self.x), pairs[:, self.rows, self.columns])
        rows, columns = np.tril_indices(9)
        want = np.concatenate([self.x[:, 0], pairs[:, rows, columns]], 1)
        self.close(quern.interaction(self.x, dense=12, diagonal=1), want)

    def test_16_bits(self):
        x = np.round(self.x * 4).astype(bf16)
        pairs = np.einsum("bik,bjk->bij", x.astype(f32), x.astype(f32))
        self.same(quern.interaction(x), pairs[:, self.rows, self.columns].astype(bf16))

    def test_all_products(self):
        c = self.x.reshape(5, -1)
        self.same(quern.interaction(self.x, form="outer"), (c[:, :, None] * c[:, None, :]).reshape(5, -1))
        i, j = np.triu_indices(c.shape[1], 1)
        self.same(quern.interaction(self.x, form="upper"), c[:, i] * c[:, j])

    def test_backward(self):
        gradient = numbers(5, 12 + 36, seed=2)
        triangle = np.zeros((5, 9, 9), f32)
        triangle[:, self.rows, self.columns] = gradient[:, 12:]
        want = np.einsum("bij,bjk->bik", triangle + triangle.transpose(0, 2, 1), self.x)
        want[:, 0] += gradient[:, :12]
        got = quern.interaction(self.x, gradient=gradient, dense=12, pass_="backward")
        self.close(got, want)


class Glu(Case):
    x = numbers(6, 16)
    a, g = x[:, :8], x[:, 8:]

    def test_forward(self):
        self.close(quern.glu(self.x), silu(self.a) * self.g)
        self.close(quern.glu(self.x, activation="sigmoid"), sigmoid(self.a) * self.g)

    def test_layouts(self):
        want = silu(self.a) * self.g
        self.close(quern.glu(np.concatenate([self.g, self.a], 1), layout="swapped"), want)
        self.close(quern.glu(np.stack([self.a, self.g], 2).reshape(6, 16), layout="interleaved"), want)
        self.close(quern.glu(self.a.copy(), self.g.copy(), layout="split"), want)

    def test_clamped(self):
        got = quern.glu(self.x, gating="clamped", activation="qgelu", alpha=1.702, limit=0.5, offset=2)
        a, g = np.minimum(self.a, 0.5), np.clip(self.g, -0.5, 0.5)
        self.close(got, a * sigmoid(1.702 * a) * (g + 2))

    def test_scale(self):
        scale = numbers(6, seed=4)
        self.close(quern.glu(self.x, scale=scale), silu(self.a) * self.g * scale[:, None])

    def test_backward(self):
        gradient = numbers(6, 8, seed=3)
        got = quern.glu(self.x, gradient=gradient, pass_="backward")
        self.close(got, np.concatenate([gradient * self.g * silu_slope(self.a), gradient * silu(self.a)], 1))

    def test_backward_split_and_recomputed(self):
        gradient = numbers(6, 8, seed=3)
        out, x_gradient, gate_gradient = quern.glu(
            self.a.copy(), self.g.copy(), gradient=gradient, layout="split", pass_="backward", recompute="out")
        self.close(out, silu(self.a) * self.g)
        self.close(x_gradient, gradient * self.g * silu_slope(self.a))
        self.close(gate_gradient, gradient * silu(self.a))

    def test_bf16_with_scales(self):
        x = numbers(4, 128, dtype=bf16)
        out, scales = quern.glu(x, scaling="mx")
        self.assertEqual((out.dtype, scales.dtype), (e4m3, e8m0))
        self.assertEqual((out.shape, scales.shape), ((4, 64), (4, 2)))
        want = silu(x[:, :64].astype(f32)) * x[:, 64:].astype(f32)
        got = out.astype(f32).reshape(4, 2, 32) * scales.astype(f32)[:, :, None]
        np.testing.assert_allclose(got.reshape(4, 64), want, rtol=0.07, atol=1e-3)


def rotated(x, cos, sin):
    """The halves of heads of [batch, seq, heads, head_dim], by tables of [seq, head_dim / 2]."""
    half = x.shape[-1] // 2
    a, b, c, s = x[..., :half], x[..., half:], cos[:, None], sin[:, None]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


class Rope(Case):
    q, k = numbers(2, 3, 4, 8), numbers(2, 3, 2, 8, seed=2)
    angle = np.arange(3)[:, None] * 10000.0 ** (-2 * np.arange(4) / 8)[None]
    cos, sin = np.cos(angle).astype(f32), np.sin(angle).astype(f32)

    def test_forward(self):
        self.close(quern.rope(self.q, cos=self.cos, sin=self.sin), rotated(self.q, self.cos, self.sin))

    def test_queries_and_keys(self):
        q, k = quern.rope(self.q, self.k, cos=self.cos, sin=self.sin)
        self.close(q, rotated(self.q, self.cos, self.sin))
        self.close(k, rotated(self.k, self.cos, self.sin))

    def test_computed_with_offset(self):
        angle = (np.arange(3) + 5)[:, None] * 10000.0 ** (-2 * np.arange(4) / 8)[None]
        got = quern.rope(self.q, table="computed", offset=5)
        self.close(got, rotated(self.q, np.cos(angle), np.sin(angle)), 1e-5)

    def test_backward(self):
        got = quern.rope(self.q, cos=self.cos, sin=self.sin, pass_="backward")
        self.close(got, rotated(self.q, self.cos, -self.sin))

    def test_positions(self):
        positions = np.array([[2, 0, 1], [1, 1, 2]])
        got = quern.rope(self.q, cos=self.cos, sin=self.sin, positions=positions, position="ids")
        want = [rotated(self.q[b:b + 1], self.cos[positions[b]], self.sin[positions[b]])[0] for b in range(2)]
        self.close(got, np.stack(want))

    def test_in_place(self):
        q = self.q.copy()
        quern.rope(q_out=q, cos=self.cos, sin=self.sin, place="in_place")
        self.close(q, rotated(self.q, self.cos, self.sin))


if __name__ == "__main__":
    unittest.main()
