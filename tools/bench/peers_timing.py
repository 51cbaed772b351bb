"""Times of calls on the GPU, as `quern bench` takes them: CUDA-graph replays with cold L2, medians."""
import ctypes
import functools
import statistics

import torch
import triton
import triton.language as tl

FLUSH_CALLS = 40
FLUSH_BYTES = 128 << 20


def is_small(nbytes):
    return 400 * nbytes < 180e6


def sets_for(nbytes, set_bytes=0):
    """One, with flushes, where the operands are so much larger than what a call uses of them that many take too much memory."""
    sets = 4 if is_small(nbytes) else max(2, min(400, -(-256_000_000 // nbytes)))
    return 1 if sets > 2 and sets * set_bytes > 4e9 else sets


@functools.cache
def driver():
    return ctypes.CDLL("libcuda.so.1")


def check(status):
    if status != 0:
        raise RuntimeError(f"the CUDA driver returned error {status}")


@functools.cache
def capture_stream():
    return torch.cuda.Stream()


class Graph:
    """What `record` launches, captured by the driver. PyTorch's own capture launches two kernels more in the stream. On an
    H200 with driver 580, after eight launches outside of graphs in streams other than the default one, each kernel of a graph
    takes 0.35 us longer for the rest of the process; `quern bench` has none of them."""

    def __init__(self, record, least_nodes):
        self.exec = ctypes.c_void_p()
        self.memory = torch.cuda.MemPool()  # what `record` allocates is used by no other
        graph, stream = ctypes.c_void_p(), ctypes.c_void_p(capture_stream().cuda_stream)
        torch.cuda.synchronize()
        with torch.cuda.use_mem_pool(self.memory), torch.cuda.stream(capture_stream()):
            relaxed = 2  # memory may be allocated
            check(driver().cuStreamBeginCapture_v2(stream, relaxed))
            try:
                record()
            finally:
                status = driver().cuStreamEndCapture(stream, ctypes.byref(graph))
        check(status)
        nodes = ctypes.c_size_t()
        check(driver().cuGraphGetNodes(graph, None, ctypes.byref(nodes)))
        status = driver().cuGraphInstantiateWithFlags(ctypes.byref(self.exec), graph, ctypes.c_ulonglong(0))
        driver().cuGraphDestroy(graph)
        check(status)
        if nodes.value < least_nodes:
            raise RuntimeError(f"the graph has {nodes.value} nodes, fewer than calls: something ran outside of it")

    def __del__(self):
        if self.exec:
            driver().cuGraphExecDestroy(self.exec)

    def replay(self):
        check(driver().cuGraphLaunch(self.exec, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))


@triton.jit
def read_last(memory, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    words = tl.load(memory + at, eviction_policy="evict_last")
    tl.store(out + at, words, words == -1)


def flush_l2(memory):
    """Also of what torch.compile and Triton read as evict_last: writing 128 MB leaves it in L2."""
    read_last[(memory.numel() // 4096,)](memory, memory, BLOCK=4096)
    memory.zero_()


def capture(calls, count, flush=None):
    if flush is not None:
        flush_l2(flush)
    for call in calls[:2]:
        call()

    def record():
        keep = []
        for i in range(count):
            if flush is not None:
                flush_l2(flush)
            if calls:
                keep = (keep + [calls[i % len(calls)]()])[-len(calls):]  # outputs rotate like inputs

    return Graph(record, count * ((2 if flush is not None else 0) + (1 if calls else 0)))


def elapsed_us(graph):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def cold_us(calls, nbytes):
    if is_small(nbytes) or len(calls) == 1:
        flush = torch.zeros(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        both, alone = capture(calls, FLUSH_CALLS, flush), capture([], FLUSH_CALLS, flush)
        samples = [(elapsed_us(both) - elapsed_us(alone)) / FLUSH_CALLS for _ in range(23)]
    else:
        wanted = int(max(2, min(400, 2000 / max(2.0, nbytes / 3.5e6))))
        count = len(calls) * -(-wanted // len(calls))
        graph = capture(calls, count)
        samples = [elapsed_us(graph) / count for _ in range(23)]
    return statistics.median(samples[2:])
