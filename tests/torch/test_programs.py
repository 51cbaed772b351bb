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


def numbers_of(made, scaled, length):
    """Results as numbers: those that are quantized times their scales, which come last, each of `length` of a row."""
    results, scales = [m.float() for m in made[: len(scaled)]], iter(made[len(scaled) :])
    for i in (i for i, by_scale in enumerate(scaled) if by_scale):
        own = next(scales).float().reshape(len(results[i]), -1)
        results[i] = results[i] * own.repeat_interleave(length, -1)[:, : results[i].shape[-1]]
    return results


class Programs(TorchTest):
    def check(self, rows, width, dtype, text, **scaling):
        text, inputs, outputs = _quern._program(text)
        names, function = programs.as_torch(text, dtype, **scaling)
        given = {}
        for name, own, kind in inputs:
            kind_dtype = programs.TYPES[dtype if own == "none" else own]
            given[name] = 0.5 if kind == "number" else torch.randn(shape_of(kind, rows, width), device=DEVICE).to(kind_dtype)
        self.assertEqual(sorted(names), sorted(given))
        tensors = [given[name] for name, _, kind in inputs if kind != "number"]
        numbers = {f"number_{i}": 0.5 for i in range(len(inputs) - len(tensors))}
        got = quern.pointwise(inputs=tensors, expr=text, dtype=dtype, rows=rows, width=width, **numbers, **scaling)
        got = [m for part in got for m in part] if scaling else got
        expected = function(*[given[name] for name in names], rows=rows, width=width)
        for a, b in zip(got, expected, strict=True):
            self.assertEqual(a.dtype, b.dtype, text)
            self.assertEqual(a.numel(), b.numel(), text)
        scaled = [bool(scaling) and kind == "full" and own in ("e4m3", "e5m2") for _, own, kind in outputs]
        length = programs._BLOCKS.get(scaling.get("scaling")) or width
        for a, b, by_scale in zip(numbers_of(got, scaled, length), numbers_of(expected, scaled, length), scaled):
            step = 0.13 if by_scale else 2e-2  # of e4m3; a sum in another order may move a number to the next
            self.assertTrue(torch.allclose(a, b.reshape(a.shape), rtol=step, atol=2e-3), text)

    def test_drawn(self):
        for seed in range(10):
            _, *settings = shlex.split(programs.drawn(seed, log2_of_elements=14))
            fields = dict(setting.split("=", 1) for setting in settings)
            self.check(int(fields["rows"]), int(fields["width"]), fields["dtype"], fields["expr"])

    def test_reductions(self):
        for text in REDUCTIONS:
            self.check(5, 40, "f32", text)

    def test_quantized_outputs(self):
        for scaling in ({"scaling": "mx"}, {"scaling": "row", "mode": "exact"}, {"scaling": "block128"}):
            self.check(5, 200, "bf16", "w: row; y: e4m3; y = x / sqrt(mean(x * x) + const 1e-06) * w", **scaling)
            self.check(5, 200, "f32", "y: e4m3; z: e4m3; s = sum(x); y = x - 1; z = abs(x)", **scaling)

    def test_norms_are_problems(self):
        for problem in programs.norms():
            _, *settings = shlex.split(problem)
            fields = dict(setting.split("=", 1) for setting in settings)
            dtype, scaling = "bf16", {name: fields[name] for name in ("scaling", "mode") if name in fields}
            self.check(3, 72, dtype, fields["expr"], **scaling)


if __name__ == "__main__":
    main()
