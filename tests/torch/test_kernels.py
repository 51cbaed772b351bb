"""The operators' kernels in C++: which plan serves a call, modes of autograd, threads, errors."""
import threading
import unittest

import torch
from support import DEVICE, ON_HOST, TorchTest, ints, main, rand
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import quern
import quern.torch

_ops = torch.ops.quern


def _rows(*values):
    return ints(list(values), torch.int64)


def _in_threads(work, arguments):
    threads = [threading.Thread(target=work, args=(a,)) for a in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Plans(TorchTest):
    def test_settings_in_turn(self):
        x, index = rand(5, 4), _rows(4, 9, 0)
        inside = index.clamp(0, 4)
        for _ in range(3):
            for width in (4, 8, 12):
                y = rand(6, width)
                self.assertClose(_ops.gather(y, _rows(5, 0)), y[[5, 0]])
            self.assertClose(_ops.gather(x, index, mode="clamp"), x[inside])
            self.assertClose(_ops.gather(x, index, mode="zero"), x[inside] * (index == inside)[:, None])
            self.assertEqual(_ops.gather(x.half(), inside).dtype, torch.float16)

    def test_numbers_are_of_the_call(self):
        x, index = rand(3, 4), _rows(2, 0, 1)
        for rows, alpha in ((3, 2.0), (5, 0.5), (4, 3)):
            made = _ops.scatter(x, index, rows=rows, op="add", factor="alpha", alpha=alpha)[0]
            expected = torch.zeros(rows, 4, device=DEVICE)
            expected[index] = x * alpha
            self.assertClose(made, expected)

    def test_lists(self):
        for count in (1, 2, 3, 25):  # of as many as a call keeps without memory of its own, and more
            parts = [rand(3, width + 1) for width in range(count)]
            self.assertClose(_ops.concat(parts)[0], torch.cat(parts, 1))
        whole = rand(3, 6)
        split = _ops.concat([], source=whole, pass_="backward", widths=[2, 1, 3])
        for got, expected in zip(split, whole.split([2, 1, 3], 1)):
            self.assertClose(got, expected)
        again = _ops.concat([], source=whole, pass_="backward", widths=[4, 2])
        self.assertEqual([t.shape[1] for t in again], [4, 2])

    def test_leading_dimensions_and_orders_of_memory(self):
        x = rand(2, 3, 16)
        self.assertEqual(_ops.glu(x, activation="silu")[0].shape, (2, 3, 8))
        q, cos, sin = rand(6, 2, 3, 8).transpose(0, 1), rand(6, 4), rand(6, 4)
        made = _ops.rope(q, cos=cos, sin=sin, layout="sbhd", rotary_dim=8, table_rows=6)[0]
        self.assertEqual(made.stride(), q.stride())

    def test_an_input_that_is_not_contiguous(self):
        x = rand(4, 6).t()
        with torch.no_grad():
            self.assertClose(_ops.gather(x, _rows(5, 0)), x[[5, 0]])
        x.requires_grad_()
        self.assertSameGradients(_ops.gather(x, _rows(5, 0)), x[[5, 0]], (x,))

    def test_every_type(self):
        for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
                      torch.uint8, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2,
                      torch.float8_e8m0fnu):  # fmt: skip
            x = rand(3, 16).abs().to(dtype)
            made = _ops.gather(x, _rows(2, 0))
            self.assertEqual(made.dtype, dtype)
            self.assertTrue(torch.equal(made.view(torch.uint8), x.view(torch.uint8)[[2, 0]]))

    def test_a_conjugate(self):
        x = rand(3, 4, dtype=torch.complex64).conj()
        with torch.no_grad():
            self.assertClose(_ops.gather(x, _rows(2, 0)), x[[2, 0]])

    @unittest.skipUnless(ON_HOST, "changes the device to the host")
    def test_set_device_between_calls(self):
        x, index = rand(5, 4), _rows(4, 0)
        for _ in range(3):
            quern.set_device("host")
            before = sum(quern.statistics().values())
            self.assertClose(_ops.gather(x, index), x[[4, 0]])
            self.assertGreater(sum(quern.statistics().values()), before, "the runtime of before made the plan")


class Modes(TorchTest):
    def setUp(self):
        super().setUp()
        self.x, self.index = rand(5, 4, grad=True), _rows(4, 0, 4)

    def test_without_gradients(self):
        expected = self.x.detach()[self.index]
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                made = _ops.gather(self.x, self.index)
                self.assertClose(made, expected)
                self.assertFalse(made.requires_grad)
        made = _ops.gather(self.x.detach(), self.index)
        self.assertClose(made, expected)
        self.assertFalse(made.requires_grad)
        with torch.inference_mode():
            made = _ops.gather(torch.ones(2, 4, device=DEVICE), self.index[1:2])
        self.assertClose(_ops.gather(made, self.index[1:2]), made)

    def test_gradients_and_their_gradients(self):
        weight = torch.randn_like(self.x[self.index]).requires_grad_()
        made, = torch.autograd.grad((_ops.gather(self.x, self.index) * weight).sum(), self.x, create_graph=True)
        expected, = torch.autograd.grad((self.x[self.index] * weight).sum(), self.x, create_graph=True)
        self.assertClose(made, expected)
        double, = torch.autograd.grad(made.square().sum(), weight)
        self.assertClose(double, torch.autograd.grad(expected.square().sum(), weight)[0])

    def test_inside_of_another_operator(self):
        with torch._C._AutoDispatchBelowAutograd():
            self.assertFalse(_ops.gather(self.x, self.index).requires_grad)

    def test_written_results_have_new_versions(self):
        for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            out = torch.zeros(3, 4, device=DEVICE)
            before = out._version
            with mode():
                _ops.gather_out(self.x.detach(), self.index, out=out)
            self.assertGreater(out._version, before, mode)
            self.assertClose(out, self.x.detach()[self.index])
        with torch.inference_mode():
            out = torch.zeros(3, 4, device=DEVICE)
        _ops.gather_out(self.x.detach(), self.index, out=out)
        self.assertClose(out, self.x.detach()[self.index])

    def test_fake_and_meta_tensors(self):
        with FakeTensorMode():
            x = torch.empty(5, 4, device=DEVICE, requires_grad=True)
            index = torch.empty(3, dtype=torch.int64, device=DEVICE)
            made = _ops.gather(x, index)
            self.assertEqual((made.shape, made.requires_grad), ((3, 4), True))
            with torch.no_grad():
                self.assertFalse(_ops.gather(x, index).requires_grad)
        x = torch.empty(5, 4, device="meta", requires_grad=True)
        made = _ops.gather(x, torch.empty(3, dtype=torch.int64, device="meta"))
        made.sum().backward()
        self.assertEqual(x.grad.shape, (5, 4))

    def test_checkpoints(self):
        made = torch.utils.checkpoint.checkpoint(lambda x: _ops.gather(x, self.index) * 2, self.x, use_reentrant=False)
        self.assertSameGradients(made, self.x[self.index] * 2, (self.x,))

    def test_who_sees_operators_sees_the_named_one(self):
        class Log(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                seen.append(function)
                return function(*args, **(kwargs or {}))

        for mode in (torch.no_grad, torch.enable_grad):
            seen = []
            with mode(), Log():
                made = _ops.gather(self.x, self.index)
            self.assertEqual(seen, [_ops.gather.default])
            self.assertClose(made.detach(), self.x.detach()[self.index])
            with mode():
                graph = make_fx(lambda x, i: _ops.gather(x, i))(self.x, self.index).graph
            self.assertIn(_ops.gather.default, [node.target for node in graph.nodes])

    def test_who_records_a_call_without_gradients_records_the_named_operator(self):
        class Program(torch.nn.Module):
            def forward(self, x, index):
                return _ops.gather(x, index)

        class Functions(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(function)
                return function(*args, **(kwargs or {}))

        x = self.x.detach()
        with torch.no_grad():
            exported = torch.export.export(Program(), (x, self.index))
            traced = torch.fx.symbolic_trace(Program())
            seen = []
            with Functions():
                _ops.gather(x, self.index)
        self.assertEqual(seen, [_ops.gather])
        for program in (exported.module(), traced):
            self.assertNotIn("_gather", [str(node.target).split(".")[-2] for node in program.graph.nodes if "gather" in str(node.target)])
            self.assertTrue(program(self.x, self.index).requires_grad)

    def test_derivatives_forward_are_refused_rather_than_zeros(self):
        x = self.x.detach()
        with self.assertRaisesRegex(RuntimeError, "no forward-mode derivative"):
            torch.func.jvp(lambda a: _ops.gather(a, self.index), (x,), (torch.ones_like(x),))
        for mode in (torch.no_grad, torch.enable_grad):
            with mode(), forward_ad.dual_level():
                dual = forward_ad.make_dual(x, torch.ones_like(x))
                with self.assertRaisesRegex(RuntimeError, "no forward-mode derivative"):
                    _ops.gather(dual, self.index)

    def test_a_conjugates_imaginary_part_is_not_written(self):
        out = torch.zeros(2, 6, dtype=torch.complex64, device=DEVICE).conj().imag
        with self.assertRaisesRegex(RuntimeError, "conjugate or negative"):
            _ops.gather_out(rand(10, 6), ints([3, 1], torch.int64), out=out)

    def test_settings_are_compared_whole(self):
        _ops.gather(self.x.detach(), self.index, mode="clamp")
        with self.assertRaises(RuntimeError):
            _ops.gather(self.x.detach(), self.index, mode="clamp\0x")

    def test_a_second_refusal_names_the_tensors_that_were_given(self):
        with self.assertRaisesRegex(RuntimeError, "mode"):
            _ops.gather(rand(6, 10).t(), self.index, mode="none of these")

    def test_torch_func_is_refused_rather_than_wrong(self):
        with self.assertRaisesRegex(RuntimeError, "setup_context"):
            torch.func.grad(lambda x: _ops.gather(x, self.index).sum())(self.x.detach())
        for mode in (torch.no_grad, torch.enable_grad):
            with mode():
                many = torch.vmap(lambda x: _ops.gather(x, self.index))(torch.stack([self.x.detach()] * 2))
            self.assertClose(many[1], self.x.detach()[self.index])

    def test_compiled_forward_and_backward(self):
        torch._dynamo.reset()

        def function(x, index):
            rows = _ops.gather(x, index)
            return _ops.scatter(rows * rows, torch.arange(rows.shape[0], device=DEVICE), rows=2 * rows.shape[0])[0]

        graphs = []

        def backend(graph, inputs):
            graphs.append(graph)
            return torch._dynamo.backends.debugging.aot_eager(graph, inputs)

        compiled = torch.compile(function, fullgraph=True, backend=backend, dynamic=True)
        for count in (3, 4, 5):
            index = _rows(*[1] * count)
            self.assertSameGradients(compiled(self.x, index), function(self.x, index), (self.x,))
        self.assertEqual(len(graphs), 1, "an extent became a constant")
        with torch.no_grad():
            self.assertClose(compiled(self.x, self.index), function(self.x, self.index))


class Threads(TorchTest):
    @unittest.skipUnless(ON_HOST, "changes the device to the host")
    def test_set_device_meanwhile(self):
        x, index, failures = rand(5, 4), _rows(4, 0), []

        def work(seed):
            try:
                for _ in range(20):
                    with torch.no_grad():
                        quern.set_device("host") if seed == 0 else self.assertClose(_ops.gather(x, index), x[[4, 0]])
            except Exception as error:
                failures.append(error)

        _in_threads(work, range(8))
        self.assertEqual(failures, [])

    def test_same_results_from_many(self):
        xs = [rand(6, width) for width in (4, 8, 16)]
        index, failures = _rows(5, 1, 1), []

        def work(seed):
            try:
                with torch.no_grad():
                    for i in range(60):
                        x = xs[(i + seed) % 3]
                        mode = ("assume_valid", "clamp")[i % 2]
                        if not torch.equal(_ops.gather(x, index, mode=mode), x[[5, 1, 1]]):
                            failures.append((seed, i))
                        order = _ops.index_sort(index, rows=6)[0]
                        if order.tolist() != [1, 2, 0]:
                            failures.append((seed, i, order))
            except Exception as error:
                failures.append(error)

        _in_threads(work, range(8))
        self.assertEqual(failures, [])

    def test_errors_are_of_their_thread(self):
        failures = []

        def work(width):
            for _ in range(20):
                try:
                    _ops.gather(rand(3, 4), _rows(1), width=width)
                except RuntimeError as error:
                    if f"[3, {width}]" not in str(error):
                        failures.append(str(error))

        _in_threads(work, range(5, 13))
        self.assertEqual(failures, [])


class Errors(TorchTest):
    def test_they_name_the_operand(self):
        for mode in (torch.no_grad, torch.enable_grad):
            with mode():
                with self.assertRaisesRegex(RuntimeError, r"source has shape \[10, 6\]; this problem takes \[10, 7\]"):
                    _ops.gather(rand(10, 6), _rows(1), width=7)
                with self.assertRaisesRegex(RuntimeError, "this problem has no gate"):
                    _ops.glu(rand(4, 16), rand(4, 16), layout="halves")
                with self.assertRaisesRegex(RuntimeError, "this problem needs index"):
                    _ops.gather(rand(10, 6), mode="zero")
                with self.assertRaisesRegex(RuntimeError, "mode=.?nothing"):
                    _ops.gather(rand(10, 6), _rows(1), mode="nothing")
        self.assertClose(_ops.gather(torch.ones(3, 4, device=DEVICE), _rows(1)), torch.ones(1, 4, device=DEVICE))

    def test_a_type_that_quern_does_not_read(self):
        with self.assertRaisesRegex(RuntimeError, "source has elements of PyTorch's type"):
            _ops.gather(torch.zeros(3, 4, dtype=torch.complex32, device=DEVICE), _rows(1))


if __name__ == "__main__":
    main()
