"""Drawn programs of tools/bench/programs.py, and some with reductions, on quern and as PyTorch's operators."""
import pathlib
import shlex
import sys

import torch
from support import DEVICE, TorchTest, main

import quern
from quern import _quern

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools" / "bench"))
import programs  # noqa: E402

REDUCTIONS = (
    "w: row; y = x * rsqrt(mean(x * x) + const 1e-06) * w",
    "let t1 = exp(x - max(x)); y = t1 / sum(t1); m: column; m = max(x)",
    "c: column; k: number; b: f32; b = sum_rows(x * c); a: f32; a = sum_all(x * k); s = sum(where(x > 0 and not x > 1, x, 0))",
)


def shape_of(kind, rows, width):
    return {"row": (width,), "column": (rows,), "scalar": (1,)}.get(kind, (rows, width))


class Programs(TorchTest):
    def check(self, rows, width, dtype, text):
        text, inputs, _ = _quern._program(text)
        names, function = programs.as_torch(text, dtype)
        given = {}
        for name, own, kind in inputs:
            kind_dtype = programs.TYPES[dtype if own == "none" else own]
            given[name] = 0.5 if kind == "number" else torch.randn(shape_of(kind, rows, width), device=DEVICE).to(kind_dtype)
        self.assertEqual(sorted(names), sorted(given))
        tensors = [given[name] for name, _, kind in inputs if kind != "number"]
        numbers = {f"number_{i}": 0.5 for i in range(len(inputs) - len(tensors))}
        got = quern.pointwise(inputs=tensors, expr=text, dtype=dtype, rows=rows, width=width, **numbers)
        expected = function(*[given[name] for name in names], rows=rows, width=width)
        for a, b in zip(got, expected, strict=True):
            self.assertEqual(a.dtype, b.dtype, text)
            self.assertEqual(a.numel(), b.numel(), text)
            self.assertTrue(torch.allclose(a.float(), b.reshape(a.shape).float(), rtol=2e-2, atol=2e-3), text)

    def test_drawn(self):
        for seed in range(10):
            _, *settings = shlex.split(programs.drawn(seed, log2_of_elements=14))
            fields = dict(setting.split("=", 1) for setting in settings)
            self.check(int(fields["rows"]), int(fields["width"]), fields["dtype"], fields["expr"])

    def test_reductions(self):
        for text in REDUCTIONS:
            self.check(5, 40, "f32", text)


if __name__ == "__main__":
    main()
