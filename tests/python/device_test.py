"""Launches as on a GPU: streams, contexts and memory that is the driver's. The host driver stands for libcuda."""
from support import *  # noqa: F403
import tensors

PATH = os.environ.get("QUERN_TEST_HOSTDRIVER")


class Driver:
    """What of the driver's functions a program needs to have memory and streams."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)

    def call(self, name, *args):
        code = getattr(self.library, name)(*args)
        if code != 0:
            raise RuntimeError(f"{name}: {code}")

    def copy_of(self, array):
        """Its address in the driver's memory."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 1)))
        self.call("cuMemcpyHtoD_v2", address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        return address.value

    def read(self, address, shape, dtype):
        self.call("cuCtxSynchronize")
        array = np.empty(shape, dtype)
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(address),
                  ctypes.c_size_t(array.nbytes))
        return array

    def new_stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream.value


class Device(Case):
    x, index = numbers(9, 4), np.array([8, 0, 3])

    @classmethod
    def setUpClass(cls):
        if PATH is None:
            raise RuntimeError("QUERN_TEST_HOSTDRIVER must be the path of libquern_hostdriver.so")
        cls.driver = Driver(PATH)
        cls.driver.call("cuCtxPushCurrent_v2", cls.driver.context)
        cls.addClassCleanup(cls.driver.call, "cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        cls.runtime = quern.Runtime(libcuda=PATH, device="cuda")
        cls.plan = cls.runtime.prepare("gather width=4 dtype=f32")

    def setUp(self):
        tensors.set("", 0, 0, 1)
        self.addresses = [self.driver.copy_of(a) for a in (self.x, self.index, np.zeros((3, 4), f32))]
        tensors.take_counts()

    def tearDown(self):
        tensors.set("", 0, 0, 1)

    def tensors(self):
        shapes = (2, 32, (9, 4)), (0, 64, (3,)), (2, 32, (3, 4))
        return [tensors.Tensor(address, code, bits, shape, None, self, 2)
                for address, (code, bits, shape) in zip(self.addresses, shapes)]

    def check(self):
        self.same(self.driver.read(self.addresses[2], (3, 4), f32), self.x[self.index])

    def test_current_stream(self):
        """That of the tensors' package, asked for once a launch."""
        stream = self.driver.new_stream()
        tensors.set("", stream, 0, 1)
        self.assertIsNone(self.plan.launch(*self.tensors()))
        self.assertEqual(tensors.take_counts(), {"view": 3, "current_stream": 1})
        self.check()

    def test_current_stream_is_used(self):
        """A stream that is none is refused by the driver."""
        tensors.set("", 0x1234560, 0, 1)
        error = self.refused(quern.Error, "", self.plan.launch, *self.tensors())
        self.assertEqual(error.code, "driver")
        self.assertNotEqual(error.driver_code, 0)

    def test_given_stream(self):
        tensors.set("current_stream", 0, 0, 1)  # would fail
        stream = self.driver.new_stream()

        class Stream:
            def __cuda_stream__(self):
                return (0, stream)
        for given in (stream, Stream(), 0):
            self.plan.launch(*self.tensors(), stream=given)
        self.check()
        self.assertNotIn("current_stream", tensors.take_counts())
        error = self.refused(quern.Error, "", self.plan.launch, *self.tensors(), stream=0x1234560)
        self.assertEqual(error.code, "driver")

    def test_streams_that_are_none(self):
        for given in ("x", 1.5, object()):
            with self.subTest(stream=given):
                with self.assertRaises((TypeError, AttributeError)):
                    self.plan.launch(*self.tensors(), stream=given)

    def test_error_of_current_stream(self):
        tensors.set("current_stream", 0, 0, 1)
        self.refused(LookupError, "current_stream failed", self.plan.launch, *self.tensors())
        x, index, _ = self.tensors()
        self.refused(LookupError, "current_stream failed", quern.gather, x, index, runtime=self.runtime)

    def test_function(self):
        x, index, out = self.tensors()
        tensors.set("", self.driver.new_stream(), 0, 1)
        self.assertIs(quern.gather(x, index, out=out, runtime=self.runtime), out)
        self.assertEqual(tensors.take_counts(), {"view": 3, "current_stream": 1})
        self.check()

    def test_cuda_array_interface(self):
        interfaces = [{"shape": a.shape, "typestr": a.dtype.str, "data": (address, False), "version": 3}
                      for a, address in zip((self.x, self.index, self.x[:3]), self.addresses)]
        given = [type("Array", (), {"__cuda_array_interface__": i})() for i in interfaces]
        self.plan.launch(*given)
        self.check()
        interfaces[2]["data"] = (self.addresses[2], True)
        self.refused(ValueError, "out is read-only", self.plan.launch, *given)

    def test_results_of_a_package_like_cupy(self):
        """Made by `empty` of the package that the type is of."""
        import types
        package, test = types.ModuleType("likecupy"), self

        class Array:
            def __init__(self, address, shape, dtype):
                self.address, self.shape, self.dtype = address, tuple(shape), np.dtype(dtype)
                self.__cuda_array_interface__ = {"shape": self.shape, "typestr": self.dtype.str,
                                                 "data": (address, False), "version": 3}

            def fill(self, value):
                filled = np.full(self.shape, value, self.dtype)
                test.driver.call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), ctypes.c_void_p(filled.ctypes.data),
                                 ctypes.c_size_t(filled.nbytes))
        Array.__module__ = "likecupy.core"
        package.empty = lambda shape, dtype: Array(
            test.driver.copy_of(np.full(shape, 77, dtype)), shape, dtype)
        sys.modules["likecupy"] = package
        self.addCleanup(sys.modules.pop, "likecupy")
        x = Array(self.addresses[0], (9, 4), f32)
        index = Array(self.addresses[1], (3,), np.int64)
        out = quern.gather(x, index, runtime=self.runtime)
        self.assertIs(type(out), Array)
        self.same(self.driver.read(out.address, (3, 4), f32), self.x[self.index])
        for _ in range(2):  # the workspace is kept
            order, ordered = quern.index_sort(index, rows=9, runtime=self.runtime)
            self.same(self.driver.read(order.address, (3,), np.int32), np.array([1, 2, 0], np.int32))
        longer = Array(self.driver.copy_of(np.arange(5000)[::-1].copy()), (5000,), np.int64)
        order, _ = quern.index_sort(longer, rows=5000, runtime=self.runtime)  # and replaced by a larger one
        self.same(self.driver.read(order.address, (5000,), np.int32), np.arange(5000, dtype=np.int32)[::-1].copy())

    def test_memory_of_the_cpu(self):
        error = self.refused(quern.Error, "CPU", self.plan.launch, self.x, self.index, np.zeros((3, 4), f32))
        self.assertEqual((error.code, error.stage), ("bad_input", "launch"))
        self.assertEqual(error.sentence, "source is in CPU memory; this plan is for cuda:0; for the CPU: "
                         'quern.set_device("host"), Runtime(device="host") or QUERN_DEVICE=host')
        self.assertIn(error.sentence, str(error))

    def test_no_context(self):
        """A new thread has none."""
        import threading
        errors = []

        def work():
            try:
                self.runtime.prepare("gather width=4 dtype=f32")
            except quern.Error as error:
                errors.append(error)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        self.assertEqual([error.code for error in errors], ["no_device"])
        self.assertIn("context", errors[0].sentence)

    def test_references(self):
        given = self.tensors()
        stream = int("1" * 3) - 111
        for _ in range(10):
            self.plan.launch(*given, stream=stream)
        with Growth(*given, self.plan, stream) as growth:
            for _ in range(300):
                self.plan.launch(*given, stream=stream)
                quern.gather(*given[:2], out=given[2], runtime=self.runtime)
        self.assertEqual(growth.counts[:4], [0, 0, 0, 0])


if __name__ == "__main__":
    unittest.main()
