"""What the tests of the Python package share."""
import ctypes
import gc
import os
import subprocess
import sys
import unittest

try:
    import ml_dtypes
    import numpy as np
except ImportError as missing:
    sys.exit(f"not ok set-up: these tests need NumPy and ml_dtypes ({missing}): pip install numpy ml_dtypes")
import quern

quern.set_device("host")

bf16 = ml_dtypes.bfloat16
e4m3 = ml_dtypes.float8_e4m3fn
e5m2 = ml_dtypes.float8_e5m2
e8m0 = ml_dtypes.float8_e8m0fnu
f16, f32, f64 = np.float16, np.float32, np.float64


def numbers(*shape, seed=1, dtype=f32):
    """Normal numbers of a type."""
    return np.random.default_rng(seed).standard_normal(shape).astype(f32).astype(dtype)


def bits(array):
    """The same bits as unsigned numbers."""
    size = array.dtype.itemsize
    return np.ascontiguousarray(array).view(f"u{size}" if size <= 8 else np.uint64)


class Case(unittest.TestCase):
    def same(self, got, want):
        """The same type, shape and bits."""
        want = np.asarray(want)
        self.assertEqual(got.dtype, want.dtype)
        self.assertEqual(got.shape, want.shape)
        if not np.array_equal(bits(got), bits(want)):
            self.fail(f"differ:\n{got}\nexpected:\n{want}")

    def close(self, got, want, tolerance=2e-6):
        """The same shape, and numbers up to rounding."""
        self.assertEqual(got.shape, np.shape(want))
        np.testing.assert_allclose(got.astype(f64), np.asarray(want).astype(f64), rtol=tolerance, atol=tolerance)

    def refused(self, kind, sentence, function, *args, **words):
        """Calls it; returns what it raised, of this very type, which must say `sentence`."""
        with self.assertRaises(kind) as raised:
            function(*args, **words)
        self.assertIs(type(raised.exception), kind)
        self.assertIn(sentence, str(raised.exception))
        return raised.exception


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_program(text, timeout=60, **environment):
    """Runs a program in a process of its own; returns its exit code, stdout and stderr."""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def memory_of(address, shape, dtype):
    """NumPy's view of memory."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * count).from_address(address), dtype=dtype).reshape(shape)


class Growth:
    """What the process has more of after its block: reference counts of objects, and bytes of Python's."""

    def __init__(self, *objects):
        self.objects = objects

    def __enter__(self):
        gc.collect()
        self.counts = [sys.getrefcount(x) for x in self.objects]
        self.resident = resident_bytes()
        return self

    def __exit__(self, *error):
        gc.collect()
        now = [sys.getrefcount(x) for x in self.objects]  # as in __enter__: zip would hold one more
        self.counts = [after - before for after, before in zip(now, self.counts)]
        self.resident = resident_bytes() - self.resident
