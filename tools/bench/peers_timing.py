"""Times of calls on the GPU, as `quern bench` takes them: CUDA-graph replays with cold L2, medians."""
import functools
import statistics

import torch

FLUSH_CALLS = 40


def is_small(nbytes):
    return 400 * nbytes < 180e6


def sets_for(nbytes, set_bytes=0):
    """One, with flushes, where the operands are so much larger than what a call uses of them that many take too much memory."""
    sets = 4 if is_small(nbytes) else max(2, min(400, -(-256_000_000 // nbytes)))
    return 1 if sets > 2 and sets * set_bytes > 4e9 else sets


@functools.cache
def capture_stream():
    """One for all, as in `quern bench`, where launches in 8 streams made every later kernel of a graph 0.35 us slower."""
    return torch.cuda.Stream()


def capture(calls, count, flush=None):
    stream, current = capture_stream(), torch.cuda.current_stream()
    stream.wait_stream(current)
    graph, keep = torch.cuda.CUDAGraph(), []
    with torch.cuda.stream(stream):
        for call in calls[:2]:
            call()
        torch.cuda.synchronize()
        graph.capture_begin()
        for i in range(count):
            if flush is not None:
                flush.zero_()
            if calls:
                keep = (keep + [calls[i % len(calls)]()])[-len(calls):]  # outputs rotate like inputs
        graph.capture_end()
    current.wait_stream(stream)
    return graph


def elapsed_us(graph):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def cold_us(calls, nbytes):
    if is_small(nbytes) or len(calls) == 1:
        flush = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
        both, alone = capture(calls, FLUSH_CALLS, flush), capture([], FLUSH_CALLS, flush)
        samples = [(elapsed_us(both) - elapsed_us(alone)) / FLUSH_CALLS for _ in range(23)]
    else:
        wanted = int(max(2, min(400, 2000 / max(2.0, nbytes / 3.5e6))))
        count = len(calls) * -(-wanted // len(calls))
        graph = capture(calls, count)
        samples = [elapsed_us(graph) / count for _ in range(23)]
    return statistics.median(samples[2:])
