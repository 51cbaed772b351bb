"""quern.torch.fuse with reductions: of the program, and of gradients of what broadcasts."""
import torch
from support import TorchTest, main, rand

import quern.torch as qt

NORM = "w: row; m: number; y = x * rsqrt(mean(x * x) + m) * w"


def norm(x, m, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + m) * w


class FuseSums(TorchTest):
    def check(self, program, expected, *inputs, atol=1e-5):
        needing = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
        self.assertSameGradients(qt.fuse(program)(*inputs), expected(*inputs), needing, atol)

    def test_gradients_of_rows_columns_and_elements(self):
        program = "out = relu(x + m * y + b)"

        def expected(x, m, y, b):
            return torch.relu(x + m * y + b)

        x = rand(2, 3, 8, grad=True)
        for y in (rand(2, 3, 8, grad=True), rand(2, 3, 1, grad=True), rand(1, grad=True)):
            for b in (rand(8, grad=True), rand(1, 1, 8, grad=True), rand(2, 3, 1, grad=True)):
                for m in (rand(1, grad=True), rand(1)[0].requires_grad_(), 0.5):
                    with self.subTest(y=y.shape, b=b.shape):
                        self.check(program, expected, x, m, y, b)

    def test_nothing_is_full(self):
        self.check("out = c * b", lambda c, b: c * b, rand(2, 3, 1, grad=True), rand(8, grad=True))
        self.check("out = b * s", lambda b, s: b * s, rand(8, grad=True), rand(1, grad=True))
        self.check("out = exp(c) * s", lambda c, s: c.exp() * s, rand(5, 1, grad=True), rand(1, grad=True))

    def test_declared_kinds(self):
        program = "b: row; c: column; m: number; out = x * c + b * m"
        m = rand(1)[0].requires_grad_()
        self.check(program, lambda x, c, b, m: x * c[..., None] + b * m, rand(2, 3, 8, grad=True), rand(2, 3, grad=True), rand(8, grad=True), m)

    def test_no_rows(self):
        x, b = rand(0, 8, grad=True), rand(8, grad=True)
        made = torch.autograd.grad(qt.fuse("out = x * b")(x, b).sum(), (x, b))
        self.assertEqual([g.shape for g in made], [(0, 8), (8,)])
        self.assertClose(made[1], torch.zeros_like(b))

    def test_types_of_gradients_are_those_of_the_inputs(self):
        x, b = rand(3, 8, dtype=torch.bfloat16, grad=True), rand(8, grad=True)
        made = qt.fuse("out: bf16; out = x * b")(x, b)
        self.assertEqual([g.dtype for g in torch.autograd.grad(made.sum(), (x, b))], [torch.bfloat16, torch.float32])

    def test_reductions(self):
        x, w = rand(2, 3, 8, grad=True), rand(8, grad=True)
        self.check(NORM, norm, x, 1e-5, w)
        self.check("let e = exp(x - detach(max(x))); y = e / sum(e)", lambda x: x.softmax(-1), x)
        self.check("s = sum(x * w); y = x", lambda x, w: ((x * w).sum(-1), x), x, w)
        self.check("s = sum_rows(x * x)", lambda x: (x * x).sum((0, 1)), x)
        self.check("s = sum_all(x * x)", lambda x: (x * x).sum(), x)

    def test_second_derivatives(self):
        x, w, weight = rand(3, 8, grad=True), rand(8, grad=True), rand(3, 8)
        seconds = []
        for made in (qt.fuse(NORM)(x, 1e-5, w), norm(x, 1e-5, w)):
            first = torch.autograd.grad((made * weight).sum(), (x, w), create_graph=True)
            seconds.append(torch.autograd.grad(sum(g.square().sum() for g in first), (x, w)))
        for got, expected in zip(*seconds):
            self.assertClose(got, expected, 1e-4)

    def test_compiled(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        f = qt.fuse(NORM)
        compiled = torch.compile(lambda x, w: f(x * 2, 1e-5, w), fullgraph=True, backend="aot_eager")
        w = rand(8, grad=True)
        for size in (2, 4, 5):
            x = rand(size, 3, 8, grad=True)
            self.assertSameGradients(compiled(x, w), norm(x * 2, 1e-5, w), (x, w))
        self.assertLessEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], 2)


if __name__ == "__main__":
    main()
