"""quern.torch.fuse with outputs that are quantized."""
import torch
from support import TorchTest, main, rand

import quern.torch as qt

NORM = "w: row; y: e4m3; y = x / sqrt(mean(x * x) + 1e-6) * w"


class FuseScaled(TorchTest):
    x, w = rand(2, 3, 72), rand(72)

    def test_elements_times_scales_are_near_the_numbers(self):
        expected = self.x / (self.x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * self.w
        for scaling, dtype, block, shape in (
            ("mx", torch.float8_e8m0fnu, 32, (2, 3, 3)),
            ("row", torch.float32, 72, (2, 3, 1)),
        ):
            y, scales = qt.fuse(NORM, scaling=scaling)(self.x, self.w)
            self.assertEqual((y.dtype, scales.dtype, scales.shape), (torch.float8_e4m3fn, dtype, shape))
            numbers = y.float() * scales.float().repeat_interleave(block, -1)[..., :72]
            floor = expected.abs().max() / 256
            self.assertLess(((numbers - expected).abs() / expected.abs().clamp_min(floor)).max(), 1 / 15)

    def test_compiled_whole_the_results_are_the_same(self):
        f = qt.fuse(NORM, scaling="mx", scale_layout="blocked")
        compiled = torch.compile(lambda x, w: f(x, w), backend="aot_eager", fullgraph=True)
        for a, b in zip(f(self.x, self.w), compiled(self.x, self.w)):
            self.assertTrue(torch.equal(a.view(torch.uint8), b.view(torch.uint8)))

    def test_what_is_quantized_has_no_gradient(self):
        x = self.x.clone().requires_grad_()
        with self.assertRaisesRegex(ValueError, "what is quantized has no gradient"):
            qt.fuse(NORM, scaling="mx")(x, self.w)
        with torch.no_grad():
            qt.fuse(NORM, scaling="mx")(x, self.w)


if __name__ == "__main__":
    main()
