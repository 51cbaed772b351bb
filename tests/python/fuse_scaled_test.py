"""quern.fuse with outputs that are quantized."""
import ml_dtypes
from support import *  # noqa: F403


def decoded(elements, scales, block):
    """The numbers of e4m3 elements by their E8M0 scales, or by floats."""
    elements = elements.view(ml_dtypes.float8_e4m3fn).astype(f32)
    scales = scales if scales.dtype == f32 else np.exp2(scales.view(np.uint8).astype(f32) - 127)
    return elements * np.repeat(scales, block, -1)[..., : elements.shape[-1]]


class FuseScaled(Case):
    x, w = numbers(2, 3, 72), numbers(72, seed=2)

    def expected(self):
        return self.x / np.sqrt((self.x * self.x).mean(-1, keepdims=True) + 1e-6) * self.w

    def test_an_rms_norm_in_each_scaling(self):
        program = "y: e4m3; y = x / sqrt(mean(x * x) + 1e-6) * w"
        for scaling, block, shape in (("mx", 32, (2, 3, 3)), ("block128", 128, (2, 3, 1)), ("row", 72, (2, 3, 1))):
            y, scales = quern.fuse(program, scaling=scaling, mode="rceil" if scaling == "mx" else "exact")(self.x, self.w)
            self.assertEqual((y.shape, scales.shape), ((2, 3, 72), shape))
            expected = self.expected()
            error = np.abs(decoded(y, scales, block) - expected)
            self.assertTrue((error <= np.maximum(np.abs(expected) / 16, np.abs(expected).max() / 256)).all(), scaling)

    def test_scales_come_after_all_outputs(self):
        y, s, z, of_y, of_z = quern.fuse("y: e4m3; z: e5m2; y = x * 2; s = sum(x); z = x * w", scaling="mx")(self.x, self.w)
        self.assertEqual((s.shape, of_y.shape, of_z.shape), ((2, 3), (2, 3, 3), (2, 3, 3)))
        self.close(s, self.x.sum(-1), 1e-5)
        self.assertLess(np.abs(decoded(y, of_y, 32) - 2 * self.x).max(), np.abs(self.x).max() / 8)

    def test_blocked_scales_are_those_of_mxfp8(self):
        x = numbers(130, 160)
        y, scales = quern.fuse("y: e4m3; y = x", scaling="mx", scale_layout="blocked")(x)
        expected, expected_scales = quern.mxfp8(x, scale_layout="blocked")
        self.assertEqual(scales.shape, expected_scales.shape)
        self.assertEqual(y.tobytes(), expected.tobytes())
        self.assertEqual(scales.tobytes(), expected_scales.tobytes())

    def test_given_results(self):
        fused = quern.fuse("y: e4m3; y = x * w", scaling="mx")
        y, scales = fused(self.x, self.w)
        given = [np.zeros_like(y), np.zeros_like(scales)]
        fused(self.x, self.w, out=given)
        self.assertEqual([g.tobytes() for g in given], [y.tobytes(), scales.tobytes()])
        with self.assertRaisesRegex(TypeError, "one for each output: y, their scales"):
            fused(self.x, self.w, out=given[:1])
        with self.assertRaisesRegex(quern.Error, "y_scales overlaps y; scales may overlap nothing"):
            fused(self.x, self.w, out=[given[0], given[0].view(np.uint8).reshape(-1)[:18].reshape(2, 3, 3)])

    def test_an_output_in_place(self):
        program = "x: e4m3; w: row; x = x * w + max(x)"
        x = self.x.astype(ml_dtypes.float8_e4m3fn)
        expected = quern.fuse(program, scaling="row")(x, self.w)
        scales = np.zeros((2, 3, 1), f32)
        quern.fuse(program, scaling="row")(x=x, w=self.w, out=[x, scales])
        self.assertEqual((x.tobytes(), scales.tobytes()), tuple(m.tobytes() for m in expected))

    def test_an_element_is_a_row(self):
        y, scales = quern.fuse("y: e4m3; y = x", scaling="mx")(np.ones((), f32))
        self.assertEqual((y.shape, scales.shape), ((), (1,)))
        with self.assertRaisesRegex(TypeError, "at least one tensor"):
            quern.fuse("y: e4m3; y = m * 2", scaling="mx")(2.0)

    def test_without_a_scaling_nothing_is_quantized(self):
        self.same(quern.fuse("y = x * 2", scaling="none")(self.x), self.x * 2)
        with self.assertRaisesRegex(ValueError, "are for a scaling: give scaling='mx'"):
            quern.fuse("y = x * 2", mode="floor")

    def test_what_is_not_quantized_is_said(self):
        with self.assertRaisesRegex(quern.Error, "outputs of e4m3 or e5m2"):
            quern.fuse("y = x", scaling="mx")(self.x)
        self.assertEqual(repr(quern.fuse("y: e4m3; y = x", scaling="mx")), "quern.fuse('y: e4m3; y = x', scaling='mx')")


if __name__ == "__main__":
    unittest.main()
