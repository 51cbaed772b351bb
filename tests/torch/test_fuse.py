"""quern.torch.fuse beside eager PyTorch: values, gradients, torch.compile."""
import torch
import torch.nn.functional as F
from support import TorchTest, main, rand
from torch.fx.experimental.proxy_tensor import make_fx

import quern.torch as qt
from quern.torch import _programs

_ops = torch.ops.quern


class Fuse(TorchTest):
    def test_values_and_gradients(self):
        f = qt.fuse("p = gelu(x * y) + z; q = x - exp(z)")
        inputs = [rand(2, 3, 8, grad=True) for _ in range(3)]
        x, y, z = inputs
        self.assertSameGradients(f(x, y, z=z), (F.gelu(x * y) + z, x - torch.exp(z)), inputs)

    def test_only_what_needs_a_gradient_gets_one(self):
        f, x, y = qt.fuse("out = silu(x) * y"), rand(3, 8, grad=True), rand(3, 8)
        self.assertSameGradients(f(x, y), F.silu(x) * y, [x])
        self.assertFalse(f(x.detach(), y).requires_grad)
        with torch.no_grad():
            self.assertFalse(f(x, y).requires_grad)

    def test_a_result_without_a_gradient_counts_as_zeros(self):
        f, x, y = qt.fuse("p = x * y; q = x + y"), rand(3, 8, grad=True), rand(3, 8, grad=True)
        (got,) = torch.autograd.grad(f(x, y)[1].sum(), x)
        self.assertClose(got, torch.ones_like(x))

    def test_numbers_are_of_the_call(self):
        f, x = qt.fuse("m: number; k: number; out = x * m + k"), rand(3, 8, grad=True)
        for m, k in ((0.5, 1), (2, -1.5)):
            self.assertSameGradients(f(x, m, k), x * m + k, [x])

    def test_second_derivatives(self):
        f, x, y = qt.fuse("out = sigmoid(x) * y"), rand(3, 8, grad=True), rand(3, 8, grad=True)
        weight = rand(3, 8)
        seconds = []
        for made in (f(x, y), torch.sigmoid(x) * y):
            first = torch.autograd.grad((made * weight).sum(), (x, y), create_graph=True)
            seconds.append(torch.autograd.grad(first[0].square().sum() + first[1].sum(), (x, y)))
        for got, expected in zip(*seconds):
            self.assertClose(got, expected)

    def test_inputs_that_a_gradient_does_not_read_are_not_saved(self):
        x, y, z = (rand(3, 8, grad=True) for _ in range(3))
        for program, read in (("out = x * y + z", (x, y)), ("out = exp(x) + y + z", (x,))):
            made = qt.fuse(program)(x, y, z)
            self.assertEqual([t.data_ptr() for t in made.grad_fn.saved_tensors], [t.data_ptr() for t in read])

    def test_inputs_that_lie_in_another_order(self):
        f, x, y = qt.fuse("out = tanh(x) * y"), rand(8, 3, grad=True), rand(3, 8, grad=True)
        self.assertSameGradients(f(x.t(), y), torch.tanh(x.t()) * y, [x, y])
        f(x.t(), y).sum().backward()  # a gradient of one element, expanded
        self.assertClose(y.grad, torch.tanh(x.t()))

    def test_promotes_as_pytorch(self):
        for a in (torch.float32, torch.float16, torch.bfloat16):
            for b in (torch.float32, torch.float16, torch.bfloat16):
                x, y = rand(3, 8, dtype=a), rand(3, 8, dtype=b)
                self.assertEqual(qt.fuse("out = x + y")(x, y).dtype, (x + y).dtype)
        self.assertEqual(qt.fuse("out = x + y")(rand(3, 8, dtype=torch.float16), rand(1)[0]).dtype, torch.float16)

    def test_refusals(self):
        x = rand(3, 8)
        for program, inputs, words in (
            ("x: f32; out = x", [x.bfloat16()], "x has elements of type bfloat16; it takes f32"),
            ("out = x", [x.long()], "x has elements of type int64"),
            ("out = x + y", [x], "y is not given"),
            ("m: number; out = m * 2", [3.0], "no input is a tensor"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                qt.fuse(program)(*inputs)

    def test_a_gradient_that_no_kernel_takes_is_refused_at_the_call(self):
        x = rand(3, 8, grad=True)
        long = " + ".join(f"sum(exp(x * const {i}.5))" for i in range(24))
        with self.assertRaisesRegex(ValueError, "the gradient by x is a program of .* split the program"):
            qt.fuse(f"out = {long}")(x)
        qt.fuse(f"out = {long}")(x.detach())
        with self.assertRaisesRegex(Exception, "the gradient has more than 8 outputs"):
            qt.fuse("out = " + " + ".join(f"x{i}" for i in range(9)))(*[rand(3, 8, grad=True) for _ in range(9)])

    def test_what_depends_on_no_input_has_zeros(self):
        x = rand(3, 8, grad=True)
        (got,) = torch.autograd.grad(qt.fuse("out = detach(x)")(x).sum(), x)
        self.assertClose(got, torch.zeros_like(x))

    def test_gradients_of_an_operator_without_a_type(self):
        x, y = rand(3, 8, dtype=torch.float16, grad=True), rand(3, 8, grad=True)
        (got,) = _ops.pointwise_program([y, x], expr="out: f32; y: f32; out = y * x")
        self.assertSameGradients(got, y * x, [x, y])

    def test_backward_keeps_and_reads_what_is_saved(self):
        f, x, w = qt.fuse("y = exp(x * w)", save="y"), rand(3, 8, grad=True), rand(8, grad=True)
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape) or t, lambda t: t):
            y = f(x, w)
        self.assertIn(torch.Size([3, 8]), kept)
        self.assertSameGradients(y, torch.exp(x * w), [x, w])
        kept.clear()
        alone, z = qt.fuse("y = exp(x)", save="y"), rand(3, 8, grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
            y = alone(z)
        self.assertEqual(len(kept), 1)
        self.assertTrue(torch.equal(kept[0], y))
        self.assertSameGradients(y, torch.exp(z), [z])

    def test_gradients_of_saved_outputs_have_gradients(self):
        x = rand(3, 8, grad=True)
        for f in (qt.fuse("y = tanh(x)"), qt.fuse("y = tanh(x)", save="y")):
            (first,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
            (second,) = torch.autograd.grad(first.sum(), x)
            t = torch.tanh(x)
            self.assertClose(second, -2 * t * (1 - t * t))

    def test_softmax_keeps_its_result(self):
        x, d = rand(3, 8, grad=True), rand(3, 8)
        f = qt.fuse("let e = exp(x - detach(max(x))); y = e / sum(e)", save="y")
        self.assertSameGradients(f(x) * d, torch.softmax(x, -1) * d, [x])

    def test_its_gradient_function_is_differentiable(self):
        g, x, d = qt.fuse("out = x * x * x").gradient("x"), rand(3, 8, grad=True), rand(3, 8)
        self.assertSameGradients(g(d_out=d, x=x), 3 * x * x * d, [x])

    def test_programs_are_read_once(self):
        f, x, y = qt.fuse("out = x * y"), rand(3, 8, grad=True), rand(3, 8)
        f(x, y).sum().backward()
        misses = _programs._program.cache_info().misses
        f(rand(5, 8, grad=True), rand(5, 8)).sum().backward()
        self.assertEqual(_programs._program.cache_info().misses, misses)


class FuseCompiled(TorchTest):
    def check(self, function, expected, *sizes, graphs):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        for size in sizes:
            x, y = rand(size, 3, 8, grad=True), rand(size, 3, 8, grad=True)
            self.assertSameGradients(compiled(x, y), expected(x, y), (x, y))
        self.assertLessEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], graphs)

    def test_rows_stay_symbolic(self):
        f = qt.fuse("p = silu(x) * y; q = x + y")
        self.check(lambda x, y: f(x * 2, y), lambda x, y: (F.silu(x * 2) * y, x * 2 + y), 2, 4, 5, 7, graphs=2)

    def test_saved_outputs(self):
        f = qt.fuse("y = exp(x) * y2", save="y")
        self.check(lambda x, y: f(x, y), lambda x, y: torch.exp(x) * y, 2, 4, 5, graphs=2)

    def test_a_trace_with_symbols(self):
        f = qt.fuse("out = silu(x) * y + b")
        x, y, b = rand(4, 3, 8), rand(4, 3, 8), rand(8)
        traced = make_fx(f, tracing_mode="symbolic")(x, y, b)
        x, y = rand(5, 3, 8), rand(5, 3, 8)
        self.assertClose(traced(x, y, b), F.silu(x) * y + b)

    def test_inputs_that_lie_in_another_order(self):
        f = qt.fuse("out = silu(x) * y")

        def function(x, y):
            return f(x.transpose(0, 1), y.transpose(0, 1)).sum(1, keepdim=True)

        self.check(function, lambda x, y: (F.silu(x) * y).transpose(0, 1).sum(1, keepdim=True), 2, 4, 5, graphs=2)

    def test_numbers_and_one_element(self):
        f = qt.fuse("out = x * m + y")
        for m in (0.5, rand(1)[0]):
            self.check(lambda x, y: f(x, m, y), lambda x, y: x * m + y, 2, 3, graphs=2)


if __name__ == "__main__":
    main()
