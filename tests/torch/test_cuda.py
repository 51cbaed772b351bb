"""What only a GPU has: streams, graphs, threads without a context, several devices, and memory."""
import threading
import unittest

import torch
from support import ON_HOST, TorchTest, ints, main, rand, routing_mask

import quern
import quern.torch as qt

_ops = torch.ops.quern


def _in_thread(function):
    """Its result, from a thread that has not used CUDA."""
    made, failed = [], []

    def run():
        try:
            made.append(function())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


@unittest.skipIf(ON_HOST, "needs a GPU")
class Cuda(TorchTest):
    def test_launches_are_in_the_current_stream(self):
        x, index = rand(4096, 4096), torch.arange(4096, device="cuda").flip(0)
        for function in (_ops.gather, quern.gather):
            with torch.no_grad():
                function(x, index)  # compiled
            side = torch.cuda.Stream()
            torch.cuda.synchronize()
            with torch.no_grad(), torch.cuda.stream(side):
                torch.cuda._sleep(20_000_000)
                source = x * 2
                made = function(source, index)
                done = made.clone()
            side.synchronize()
            self.assertTrue(torch.equal(done, x.flip(0) * 2))

    def test_a_graph_replays_with_other_values(self):
        x, index = rand(64, 32, grad=True), ints([3, 1, 60, 3], torch.int64)
        weight = rand(4, 32)
        torch.autograd.grad((_ops.gather(x, index) * weight).sum(), x)  # compiled
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gradient, = torch.autograd.grad((_ops.gather(x, index) * weight).sum(), x)
        for _ in range(3):
            index.copy_(torch.randint(0, 64, (4,)))
            weight.copy_(rand(4, 32))
            graph.replay()
            self.assertClose(gradient, torch.zeros(64, 32, device="cuda").index_add(0, index, weight))

    def test_a_routing_is_captured(self):
        tokens, experts, topk = 128, 8, 2
        x = rand(tokens, 64)
        mask = routing_mask(tokens, experts, topk)

        def move():
            made, rows, *_ = qt.moe_permute(x, mask, num_out_tokens=tokens * topk)
            return qt.moe_unpermute(made, rows)

        with torch.no_grad():
            move()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                back = move()
            for seed in range(3):
                torch.manual_seed(seed)
                mask.copy_(routing_mask(tokens, experts, topk))
                x.copy_(rand(tokens, 64))
                graph.replay()
                self.assertClose(back, x * topk)

    def test_a_compiled_function_records_graphs(self):
        tokens, experts = 2048, 16
        x = rand(tokens, 64, dtype=torch.float32).requires_grad_()

        def step(x, ids, index):
            rows, _ = qt.moe_permute(x, ids, map_type="index", num_experts=experts)
            return rows.square().mean() + qt.index_select(x, 0, index).square().mean()

        compiled = torch.compile(step, mode="reduce-overhead")
        for _ in range(5):  # the first ones run as they are and record
            ids = torch.randint(0, experts, (tokens, 4), device="cuda", dtype=torch.int32)
            index = torch.randint(0, tokens, (9000,), device="cuda", dtype=torch.int32)
            gradients = []
            for function in (step, compiled):
                torch.compiler.cudagraph_mark_step_begin()
                x.grad = None
                function(x, ids, index).backward()
                gradients.append(x.grad.clone())
            self.assertClose(gradients[1], gradients[0])

    def test_a_source_that_is_freed_while_its_launch_is_queued(self):
        x, index = rand(1024, 1024), torch.arange(1024, device="cuda").flip(0)
        plan = quern.prepare("gather width=1024 dtype=f32")
        out = torch.empty_like(x)

        def launch(source, index):
            plan.launch(source, index, out)
            return out

        for function in (_ops.gather, quern.gather, launch):
            for mode in (torch.no_grad, torch.enable_grad):
                with mode():
                    function(x, index)  # compiled
                    source = x.clone()
                    torch.cuda.synchronize()
                    torch.cuda._sleep(50_000_000)
                    made = function(source, index)
                    del source
                    later = [torch.full_like(x, float("nan")) for _ in range(4)]  # one of them in its memory
                    self.assertTrue(torch.equal(made, x.flip(0)))
                    del later

    def test_workspaces_of_streams_are_their_own(self):
        keys = [torch.randint(0, 1 << 12, (100_000,), device="cuda") for _ in range(4)]
        expected = [k.sort(stable=True).indices for k in keys]
        torch.cuda.synchronize()
        streams = [torch.cuda.Stream() for _ in keys]
        made = []
        for stream, key in zip(streams, keys):
            with torch.cuda.stream(stream):
                made.append(_ops.index_sort(key, rows=1 << 12)[0])
        torch.cuda.synchronize()
        for got, order in zip(made, expected):
            self.assertTrue(torch.equal(got.long(), order))

    def test_threads_without_a_context(self):
        x, index = rand(10, 6), ints([3, 1], torch.int64)
        torch.cuda.synchronize()
        for function in (lambda: _ops.gather(x, index), lambda: quern.gather(x, index), lambda: qt.swiglu(x)):
            expected = function()
            made = _in_thread(function)
            torch.cuda.synchronize()
            self.assertTrue(torch.equal(made, expected))

    def test_no_call_copies_to_the_host_or_waits(self):
        x, mask, probs = rand(512, 64), routing_mask(512, 8, 2), rand(512, 8)

        def run():
            rows, _, routing, *_ = qt.moe_permute_and_pad_with_probs(x, probs, mask, torch.full((8,), 128), 16, topk=2)
            qt.moe_unpermute(rows, routing, probs)
            qt.mxfp8_quantize(x)
            qt.swiglu(x)

        run()
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            run()
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def test_gradients_of_gelu_tanh_have_the_bits_of_eager(self):
        for dtype in (torch.bfloat16, torch.float16):
            a, b, gradient = (4 * torch.randn(1024, 1024, device="cuda").to(dtype) for _ in range(3))
            a.requires_grad_(), b.requires_grad_()
            eager = torch.nn.functional.gelu(a, approximate="tanh") * b
            expected = torch.autograd.grad(eager, (a, b), gradient)
            ours = _ops.glu(a, b, layout="split", activation="gelu_tanh", rounding="torch")[0]
            with self.subTest(dtype=dtype):
                self.assertTrue(torch.equal(ours, eager))
                for made, wanted in zip(torch.autograd.grad(ours, (a, b), gradient), expected):
                    self.assertEqual((made != wanted).sum().item(), 0)

    def test_memory_does_not_grow(self):
        x, index = rand(256, 256, grad=True), torch.arange(256, device="cuda")
        for turn in range(60):
            y = _ops.gather(x, index)
            torch.autograd.grad(y.sum(), x)
            quern.gather(x.detach(), index)
            del y
            if turn == 9:
                before = torch.cuda.memory_allocated()
        self.assertLessEqual(torch.cuda.memory_allocated(), before)

    @unittest.skipIf(torch.cuda.device_count() < 2, "needs two GPUs")
    def test_tensors_of_another_device_than_the_current_one(self):
        for device in ("cuda:1", "cuda:0", "cuda:1"):
            x = torch.randn(10, 6, device=device, requires_grad=True)
            index = torch.tensor([3, 1], device=device)
            made = _ops.gather(x, index)
            self.assertEqual(made.device, torch.device(device))
            self.assertTrue(torch.equal(made, x[index]))
            gradient, = torch.autograd.grad(made.sum(), x)
            self.assertEqual(gradient.sum().item(), 12)
            self.assertTrue(torch.equal(_in_thread(lambda: _ops.gather(x.detach(), index)), x[index]))
            with torch.no_grad():
                self.assertTrue(torch.equal(_ops.gather(x, index), x[index]))
            with torch.cuda.device(device):
                self.assertTrue(torch.equal(quern.gather(x.detach(), index), x[index]))
        self.assertEqual(torch.cuda.current_device(), 0)


if __name__ == "__main__":
    main()
