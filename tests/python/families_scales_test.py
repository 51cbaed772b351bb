"""Families of quantized numbers and of mixtures of experts, against NumPy."""
from support import *  # noqa: F403


def quantized(x, limit=448):
    """MXFP8 of rows, scales rounded up so that nothing saturates: elements and scales."""
    blocks = x.astype(f32).reshape(x.shape[0], -1, 32)
    amax = np.abs(blocks).max(-1)
    scale = np.ceil(np.log2(np.maximum(amax * (f32(1) / f32(limit)), 2.0**-127))).astype(int) + 127
    elements = blocks * 2.0 ** (127 - scale)[..., None]
    return elements.reshape(x.shape).astype(f32), scale.astype(np.uint8).view(e8m0)


class Mxfp8(Case):
    x = numbers(4, 64)

    def test_rows(self):
        for dtype in (f32, bf16, f16):
            x = self.x.astype(dtype)
            elements, scales = quantized(x)
            out, out_scales = quern.mxfp8(x)
            self.same(out, elements.astype(e4m3))
            self.same(out_scales, scales)

    def test_another_element(self):
        elements, scales = quantized(self.x, 57344)
        out, out_scales = quern.mxfp8(self.x, element="e5m2")
        self.same(out, elements.astype(e5m2))
        self.same(out_scales, scales)

    def test_columns(self):
        x = numbers(32, 8)
        elements, scales = quantized(np.ascontiguousarray(x.T))
        out, out_scales = quern.mxfp8(x, direction="col", tail="pad")
        self.same(out, elements.astype(e4m3))
        self.same(out_scales, scales.reshape(1, 8))

    def test_round_trip(self):
        for dtype in (f32, bf16):
            x = self.x.astype(dtype)
            out, scales = quern.mxfp8(x)
            back = quern.mxfp8_dequantize(out, scales, dtype=dtype)
            self.assertEqual(back.dtype, dtype)
            want = out.astype(f32).reshape(4, 2, 32) * scales.astype(f32)[..., None]
            self.same(back, want.reshape(4, 64).astype(dtype))
            np.testing.assert_allclose(back.astype(f32), x.astype(f32), rtol=0.07, atol=0.02)

    def test_bits_of_elements(self):
        out, scales = quern.mxfp8(self.x)
        back = quern.mxfp8_dequantize(out, scales, dtype="f32")
        self.same(quern.mxfp8_dequantize(out.view(np.uint8), scales.view(np.uint8), dtype="f32"), back)

    def test_float_scales(self):
        x = numbers(4, 128)
        out, scales = quern.mxfp8(x, scaling="row", mode="exact")
        want = np.abs(x).max(1) / f32(448)
        self.close(scales.reshape(4), want)
        back = quern.mxfp8_dequantize(out, scales, scaling="row", dtype="f32")
        np.testing.assert_allclose(back, x, rtol=0.07, atol=0.02)
        self.same(back, out.astype(f32) * scales.reshape(4, 1))

    def test_blocked_scales(self):
        _, scales = quern.mxfp8(self.x)
        _, direct = quern.mxfp8(self.x, scale_layout="blocked")
        blocked = quern.mx_scales(scales, cols=64)
        self.assertEqual(blocked.dtype, e8m0)
        want = np.zeros(512, np.uint8)
        for line in range(4):
            for block in range(2):
                want[16 * (line % 32) + 4 * (line // 32) + block] = scales.view(np.uint8)[line, block]
        self.same(blocked.ravel().view(np.uint8), want)
        self.same(direct.ravel().view(np.uint8), want)
        self.same(quern.mx_scales(blocked, to="plain", rows=4, cols=64), scales)


class Experts(Case):
    """Three tokens with two routes each, of four experts whose rows are multiples of two."""

    routes = np.array([[2, 0], [0, -1], [2, 1]], np.int32)
    words = {"experts": 4, "align": 2}
    names = "counts offsets token_rows row_tokens pads totals".split()
    # Expert 0 has rows 0 and 1, expert 1 has row 2 and padding, expert 2 has rows 4 and 5.
    token_rows = np.array([[4, 0], [1, -1], [5, 2]], np.int32)
    row_tokens = [0, 1, 2, -1, 0, 2]

    def maps(self):
        return dict(zip(self.names, quern.moe_map(self.routes, **self.words)))

    def test_map(self):
        made = self.maps()
        self.same(made["counts"], np.array([2, 1, 2, 0], np.int32))
        self.same(made["offsets"], np.array([0, 2, 4, 6, 6], np.int32))
        self.same(made["token_rows"], self.token_rows)
        self.assertEqual(made["row_tokens"][:6].tolist(), self.row_tokens)
        self.assertTrue((made["row_tokens"][6:] == -1).all())
        self.assertEqual(made["pads"][:2].tolist(), [3, -1])
        self.same(made["totals"], np.array([6, 1, 0], np.int32))

    def test_map_again(self):
        """The workspace is zeros again."""
        for _ in range(3):
            self.same(self.maps()["token_rows"], self.token_rows)

    def test_map_of_mask(self):
        mask = np.zeros((3, 4), np.uint8)
        for token, experts in enumerate(self.routes):
            mask[token, experts[experts >= 0]] = 1
        counts, _, token_rows, token_experts = quern.moe_map(mask, map_="mask", topk=2, **self.words)[:4]
        self.same(counts, np.array([2, 1, 2, 0], np.int32))
        self.same(token_rows, self.token_rows)  # a mask's routes go from the last expert to the first
        self.same(token_experts, self.routes)

    def test_permute(self):
        x, maps = numbers(3, 4), self.maps()
        out = quern.moe_permute(x, maps["token_rows"], maps["pads"], **self.words)
        want = np.stack([x[t] if t >= 0 else np.zeros(4, f32) for t in self.row_tokens])
        self.same(out[:6], want)

    def test_permute_backward(self):
        maps = self.maps()
        gradient = numbers(len(maps["row_tokens"]), 4)
        out = quern.moe_permute(gradient, maps["token_rows"], pass_="backward", **self.words)
        self.same(out, np.stack([gradient[4] + gradient[0], gradient[1], gradient[5] + gradient[2]]))

    def test_permute_with_factors(self):
        x, scale, maps = numbers(3, 4), numbers(3, 2, seed=2), self.maps()
        out = quern.moe_permute(x, maps["token_rows"], maps["pads"], scale=scale, scale_of="routes", **self.words)
        for token, rows in enumerate(maps["token_rows"]):
            for k, row in enumerate(rows):
                if row >= 0:
                    self.same(out[row], scale[token, k] * x[token])
        gradient, of_scale = quern.moe_permute(
            out, maps["token_rows"], scale=scale[:, 0].copy(), rows=x, pass_="backward", **self.words
        )
        sums = np.stack([out[4] + out[0], out[1], out[5] + out[2]])
        self.close(gradient, scale[:, :1] * sums)
        self.close(of_scale, (x * sums).sum(1))

    def test_permute_with_probabilities(self):
        x, probs, maps = numbers(3, 4), numbers(3, 2, seed=2), self.maps()
        out, out_probs = quern.moe_permute(x, maps["token_rows"], maps["pads"], probs, **self.words)
        self.assertEqual(out.shape[0], out_probs.shape[0])
        self.same(out_probs[:6], np.array([probs[0, 1], probs[1, 0], probs[2, 1], 0, probs[0, 0], probs[2, 0]], f32))

    def test_unpermute(self):
        maps, probs = self.maps(), numbers(3, 2, seed=2)
        x = numbers(len(maps["row_tokens"]), 4)
        out = quern.moe_unpermute(x, maps["token_rows"], **self.words)
        self.same(out, np.stack([x[4] + x[0], x[1], x[5] + x[2]]))
        out = quern.moe_unpermute(x, maps["token_rows"], probs=probs, **self.words)
        p = probs[..., None]
        self.close(out, np.stack([p[0, 0] * x[4] + p[0, 1] * x[0], p[1, 0] * x[1], p[2, 0] * x[5] + p[2, 1] * x[2]]))

    def test_unpermute_backward(self):
        maps, probs, gradient = self.maps(), numbers(3, 2, seed=2), numbers(3, 4, seed=3)
        x = numbers(len(maps["row_tokens"]), 4)
        out, out_probs = quern.moe_unpermute(
            gradient, maps["token_rows"], maps["pads"], probs, rows=x, pass_="backward", **self.words)
        want, want_probs = np.zeros((6, 4), f32), np.zeros((3, 2), f32)
        for token in range(3):
            for k, row in enumerate(self.token_rows[token]):
                if row >= 0:
                    want[row] = probs[token, k] * gradient[token]
                    want_probs[token, k] = gradient[token] @ x[row]
        self.close(out[:6], want)
        self.close(out_probs, want_probs)


if __name__ == "__main__":
    unittest.main()
