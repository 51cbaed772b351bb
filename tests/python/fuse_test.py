"""quern.fuse: functions of tensors from formulas."""
from support import *  # noqa: F403

from quern import _fuse


class Fuse(Case):
    f = quern.fuse("out = relu(x + m * y + b)")

    def setUp(self):
        self.x, self.y, self.b = numbers(2, 3, 8), numbers(2, 3, 8, seed=2), numbers(8, seed=3)
        self.want = np.maximum(self.x + f32(0.5) * self.y + self.b, 0)

    def test_inputs_by_position_and_by_name(self):
        x, y, b = self.x, self.y, self.b
        self.same(self.f(x, 0.5, y, b), self.want)
        self.same(self.f(x, 0.5, b=b, y=y), self.want)
        self.same(self.f(m=0.5, b=b, y=y, x=x), self.want)
        self.assertEqual([name for name, _, _ in self.f.inputs], ["x", "m", "y", "b"])
        self.assertEqual(repr(self.f), "quern.fuse('out = relu(x + m * y + b)')")

    def test_numbers(self):
        for m in (f32(0.5), np.array(0.5, f32), np.array([0.5], f32)):
            self.same(self.f(self.x, m, self.y, self.b), self.want)
        declared = quern.fuse("m: number; out = relu(x + m * y + b)")
        for m in (0.5, np.array([0.5], f32)):
            self.same(declared(self.x, m, self.y, self.b), self.want)
        self.same(self.f(self.x, True, self.y, -2), np.maximum(self.x + self.y - 2, 0))

    def test_shapes_broadcast(self):
        c = numbers(2, 3, 1, seed=4)
        self.same(self.f(self.x, c, self.y, self.b), np.maximum(self.x + c * self.y + self.b, 0))
        product = quern.fuse("out = a * b")
        for a, b in (((3, 1), (4,)), ((3, 4), (4,)), ((4,), (4,)), ((1, 4), (4,)), ((1, 4), (3, 4)), ((3, 1), (1,)),
                     ((), (2, 2, 3)), ((), ()), ((1,), (5, 1)), ((0, 4), (4,)), ((0, 1), (4,)), ((2, 1, 1), (5,))):  # fmt: skip
            with self.subTest(a=a, b=b):
                a, b = np.asarray(numbers(*a)), np.asarray(numbers(*b, seed=2))
                self.same(np.asarray(product(a, b)), a * b)

    def test_declared_kinds_have_other_shapes(self):
        f = quern.fuse("b: row; c: column; out = x * c + b")
        c = numbers(2, 3, seed=4)
        want = self.x * c[..., None] + self.b
        for b in (self.b, self.b[None]):
            for each in (c, c[..., None]):
                self.same(f(self.x, each, b), want)
        self.same(quern.fuse("b: row; c: column; out = c * b")(c, self.b), c[..., None] * self.b)
        self.same(quern.fuse("c: column; out = c * 2")(c), c[..., None] * 2)
        self.same(quern.fuse("b: row; out = b * 2")(self.b), self.b * 2)

    def test_types(self):
        h, b16 = self.x.astype(f16), self.b.astype(bf16)
        self.same(quern.fuse("out = a * 2")(h), h * f16(2))
        self.same(quern.fuse("out = a * b")(self.x.astype(bf16), self.b), self.x.astype(bf16).astype(f32) * self.b)
        self.same(quern.fuse("out = a * b")(h, b16), h.astype(f32) * b16.astype(f32))
        self.same(quern.fuse("out: bf16; out = a * b")(h, self.b), (h.astype(f32) * self.b).astype(bf16))
        self.same(quern.fuse("out = a * s")(h, np.array(2, f32)), h * f16(2))  # a scalar widens nothing
        eight = self.x.astype(e4m3)
        self.same(quern.fuse("out = a + 1")(eight), eight.astype(f32) + 1)
        self.same(quern.fuse("a: e4m3; out: f32; out = a + 1")(bits(eight)), eight.astype(f32) + 1)

    def test_several_outputs(self):
        made = quern.fuse("p = x * y; q = x - y")(self.x, self.y)
        self.assertIsInstance(made, tuple)
        self.same(made[0], self.x * self.y)
        self.same(made[1], self.x - self.y)

    def test_given_results_and_in_place(self):
        out = np.zeros_like(self.x)
        self.assertIs(self.f(self.x, 0.5, self.y, self.b, out=out), out)
        self.same(out, self.want)
        two = [np.zeros_like(self.x), np.zeros_like(self.x)]
        quern.fuse("p = x; q = -x")(self.x, out=two)
        self.same(two[1], -self.x)
        for out in (two[0], two[:1], [two[0], None]):
            with self.assertRaisesRegex(TypeError, "give one for each output: p, q"):
                quern.fuse("p = x; q = -x")(self.x, out=out)
        x = self.x.copy()
        quern.fuse("x = x * y")(x, self.y, out=x)
        self.same(x, self.x * self.y)
        runtime = quern.Runtime(device="host")
        self.same(self.f(self.x, 0.5, self.y, self.b, runtime=runtime, config="threads=64"), self.want)

    def test_other_sizes_are_the_same_program(self):
        f = quern.fuse("out = x * b")
        before = _fuse.specialized.cache_info().misses
        for rows in (1, 2, 5, 9):
            x = numbers(rows, 7, 8)
            self.same(f(x, self.b), x * self.b)
        self.assertEqual(_fuse.specialized.cache_info().misses - before, 1)

    def test_the_shapes_that_are_kept_are_bounded(self):
        f = quern.fuse("out = x + 1")
        f._known = {i: None for i in range(_fuse._MOST_KNOWN)}
        f(self.x)
        self.assertEqual(len(f._known), 1)

    def test_a_gradient_is_a_function(self):
        g = quern.fuse("out = x * y * y").gradient("x", "y")
        self.assertEqual([name for name, _, _ in g.outputs], ["d_x", "d_y"])
        d_x, d_y = g(d_out=self.want, x=self.x, y=self.y)
        self.close(d_x, self.want * self.y * self.y)
        self.close(d_y, 2 * self.want * self.x * self.y)

    def test_a_gradient_reads_saved_outputs(self):
        f = quern.fuse("s: f32; y = exp(x) * b; s = sum(y2 * 2)", save=("s", "y"))
        self.assertEqual(f.text, "y: saved; s: f32 saved; y = exp(x) * b; s = sum(y2 * 2)")
        g = quern.fuse("y = tanh(x)", save="y").gradient("x")
        self.assertEqual([name for name, _, _ in g.inputs], ["d_y", "y"])
        self.close(g(d_y=self.want, y=self.x), self.want * (1 - self.x * self.x))
        self.assertEqual(quern.fuse("y: f32 saved; y = tanh(x)", save="y").text, "y: f32 saved; y = tanh(x)")
        self.refused(ValueError, "the program has no output x to save; its outputs are y", quern.fuse, "y = tanh(x)", save="x")

    def test_gradients_of_what_broadcasts_are_sums(self):
        g = quern.fuse("b: row; m: number; c: column; out = x * m + b * c").gradient("b", "m", "c")
        self.assertEqual(g.outputs, (("d_b", "none", "row"), ("d_m", "f32", "scalar"), ("d_c", "none", "column")))


class FuseRefusals(Case):
    def test_programs(self):
        self.refused(quern.Error, "the program does not parse: 1:10: ", quern.fuse, "out = x +")
        self.refused(quern.Error, "its inputs are x, y", quern.fuse("out = x + y").gradient, "z")
        self.refused(TypeError, "str", quern.fuse, 1)
        self.refused(TypeError, "an input's name", quern.fuse("out = x").gradient, 1)

    def test_inputs(self):
        f, x = quern.fuse("b: f32 row; out = x * b"), numbers(3, 4)
        b = numbers(4)
        self.refused(TypeError, "b is not given; the inputs are x, b", f, x)
        self.refused(TypeError, "there is no z; the inputs are x, b", f, x, b, z=x)
        self.refused(TypeError, "one is given twice", f, x, b, x=x)
        self.refused(TypeError, "one is given twice", f, x, b, b)
        self.refused(TypeError, "x has elements of type float64; it takes float32, float16", f, x.astype(f64), b)
        self.refused(TypeError, "b has elements of type float16; it takes f32", f, x, b.astype(f16))
        self.refused(TypeError, "x has elements of type uint16", f, bits(x.astype(bf16)), b)
        self.refused(ValueError, "b has shape [8], which does not broadcast with [3, 4]", f, x, np.concatenate([b, b]))
        self.refused(quern.Error, "inputs.1 (c) has shape [2]; this problem takes [3]", quern.fuse("c: column; out = x * c"), x, b[:2])

    def test_shapes(self):
        f, x = quern.fuse("out = x * y"), numbers(2, 3, 4)
        self.refused(ValueError, "y has shape [3], which does not broadcast with [2, 3, 4]", f, x, numbers(3))
        self.refused(ValueError, "y has shape [1, 3, 4]; beside [2, 3, 4] an input is that, a row [4], a column "
                     "[2, 3, 1] or one element: expand it", f, x, numbers(1, 3, 4))
        self.refused(ValueError, "y has shape [3, 1]", f, x, numbers(3, 1))
        self.refused(ValueError, "m has shape [4]; it is a number: give a tensor of one element, or a float",
                     quern.fuse("m: number; out = x * m"), x, numbers(4))


if __name__ == "__main__":
    unittest.main()
