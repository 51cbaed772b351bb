"""Objects that have __dlpack__ only, of DLPack 1 and of before."""
from support import *  # noqa: F403
import tensors

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class Exported:
    """NumPy's memory as capsules."""

    def __init__(self, array, device=1, old=False, version=1):
        self.inner = tensors.Tensor(array.ctypes.data, CODES[array.dtype.kind], 8 * array.itemsize, array.shape,
                                    tuple(x // array.itemsize for x in array.strides), array, device)
        self.device = device
        self.words = []
        if old:
            self.__dlpack__ = self.export_old

    def __dlpack_device__(self):
        return (self.device, 0)

    def export_old(self, stream=None):
        self.words.append({"stream": stream})
        return tensors.capsule(self.inner, False)

    def __getattr__(self, name):
        if name != "__dlpack__":
            raise AttributeError(name)
        return self.export

    def export(self, **words):
        self.words.append(words)
        return tensors.capsule(self.inner, True)


class Capsules(Case):
    x, index = numbers(9, 4), np.array([8, 0, 3])

    def setUp(self):
        tensors.set("", 0, 0, 1)
        tensors.take_counts()

    tearDown = setUp

    def check(self, **words):
        """All tensors of a launch; each capsule's deleter is called once, and no object is kept."""
        out = np.zeros((3, 4), f32)
        given = [Exported(a, **words) for a in (self.x, self.index, out)]
        with Growth(*(a.inner for a in given)) as growth:
            quern.prepare("gather width=4 dtype=f32").launch(*given)
        self.same(out, self.x[self.index])
        self.assertEqual(growth.counts, [0, 0, 0])
        self.assertEqual(tensors.take_counts()["deleted"], 3)
        return given

    def test_versioned(self):
        for given in self.check():
            self.assertEqual(given.words, [{"max_version": (1, 0), "copy": False, "stream": None}])

    def test_old(self):
        for given in self.check(old=True):
            self.assertEqual(given.words, [{"stream": None}])  # the first try was refused before it was counted

    def test_numpy_itself(self):
        """Through an object that hides its __array_interface__."""
        x = self.x

        class Hidden:
            __dlpack__ = x.__dlpack__
            __dlpack_device__ = x.__dlpack_device__
        out = np.zeros((3, 4), f32)
        quern.gather(Hidden(), self.index, out=out)
        self.same(out, x[self.index])

    def test_functions(self):
        out = np.zeros((3, 4), f32)
        given = Exported(out)
        self.assertIs(quern.gather(Exported(self.x), Exported(self.index), out=given), given)
        self.same(out, self.x[self.index])
        self.assertEqual(tensors.take_counts(), {"from_object": 3, "deleted": 3})

    def test_result_of_a_package_without_empty(self):
        with self.assertRaises((TypeError, AttributeError)) as raised:
            quern.gather(Exported(self.x), self.index)
        self.assertIn("empty", str(raised.exception))

    def test_read_only(self):
        tensors.set("", 0, 1, 1)
        out = np.zeros((3, 4), f32)
        self.refused(ValueError, "out is read-only", quern.prepare("gather width=4 dtype=f32").launch,
                     Exported(self.x), Exported(self.index), Exported(out))
        self.assertEqual(tensors.take_counts(), {"from_object": 3, "deleted": 3})
        self.assertFalse(out.any())
        quern.gather(Exported(self.x), Exported(self.index), out=out)  # inputs may be
        self.same(out, self.x[self.index])

    def test_of_a_later_version(self):
        tensors.set("", 0, 0, 2)
        with self.assertRaises((BufferError, TypeError, ValueError)):
            quern.gather(Exported(self.x), self.index, out=np.zeros((3, 4), f32))
        self.assertEqual(tensors.take_counts(), {"from_object": 1, "deleted": 1})

    def test_memory_that_its_deleter_overwrites(self):
        """A tensor that only its capsule holds is read before it goes, also by a launch that is still queued then."""
        gone = []

        class Poison:
            def __init__(self, array):
                self.array = array

            def __del__(self):
                self.array[...] = 77
                gone.append(self.array)

        class Fleeting(Exported):
            """Each capsule has its own copy, of which nothing else is left."""

            def __init__(self, array):
                self.array = array

            def __dlpack_device__(self):
                return (1, 0)

            def export(self, **words):
                copy = self.array.copy()
                inner = tensors.Tensor(copy.ctypes.data, CODES[copy.dtype.kind], 8 * copy.itemsize, copy.shape,
                                       tuple(x // copy.itemsize for x in copy.strides), Poison(copy), 1)
                return tensors.capsule(inner, True)

        plan = quern.prepare("gather width=4 dtype=f32")
        for call in (lambda x, i, y: plan.launch(x, i, y), lambda x, i, y: quern.gather(x, i, out=y)):
            gone.clear()
            out = np.zeros((3, 4), f32)
            call(Fleeting(self.x), self.index, out)
            self.same(out, self.x[self.index])
            self.assertEqual([bool((a == 77).all()) for a in gone], [True])

    def test_device(self):
        given = Exported(self.x, device=2)
        error = self.refused(quern.Error, "source is on cuda:0", quern.gather, given, self.index)
        self.assertEqual(error.code, "bad_input")
        self.assertEqual(given.words[0]["stream"], -1)
        self.assertEqual(tensors.take_counts()["deleted"], len(given.words))

    def test_too_many_dimensions(self):
        given = Exported(self.x.reshape((1,) * 16 + (9, 4)))
        self.refused(ValueError, "16 dimensions", quern.gather, given, self.index)
        self.assertEqual(tensors.take_counts(), {"from_object": 1, "deleted": 1})

    def test_errors_of_the_method(self):
        class Failing:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **words):
                raise BufferError("not today")
        self.refused(BufferError, "not today", quern.gather, Failing(), self.index)

        class NoDevice(Failing):
            def __dlpack_device__(self):
                raise LookupError("no device")
        self.refused(LookupError, "no device", quern.gather, NoDevice(), self.index)

    def test_errors_of_an_attribute(self):
        """What a property raises is not hidden, unless it says that there is none."""
        class Raising:
            @property
            def __array_interface__(self):
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            quern.gather(Raising(), self.index)

    def test_type_error_of_the_method(self):
        """The second, old call gives the error that is raised."""
        class Failing:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, stream=None, max_version=None):
                raise TypeError("broken")
        self.refused(TypeError, "broken", quern.gather, Failing(), self.index)

    def test_wrong_values(self):
        for capsule, device in ((3, (1, 0)), (None, (1, 0)), (3, (1,)), (3, ()), (3, ("cpu", 0))):
            class Wrong:
                def __dlpack_device__(self):
                    return device

                def __dlpack__(self, **words):
                    return capsule
            with self.subTest(capsule=capsule, device=device):
                with self.assertRaises((TypeError, ValueError, IndexError)):
                    quern.gather(Wrong(), self.index)

    def test_device_that_is_no_tuple(self):
        code, _, err = run_program("""
import numpy, quern
quern.set_device("host")
class Wrong:
    def __dlpack_device__(self):
        return 1
    def __dlpack__(self, **words):
        return 3
try:
    quern.gather(Wrong(), numpy.array([1]))
except TypeError:
    pass
""")
        self.assertEqual(code, 0, err)

    def test_used_capsule(self):
        capsule = tensors.capsule(Exported(self.x).inner, True)

        class Same:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **words):
                return capsule
        out = np.zeros((3, 4), f32)
        quern.gather(Same(), self.index, out=out)
        with self.assertRaises((TypeError, ValueError)):
            quern.gather(Same(), self.index, out=out)
        del capsule, Same
        self.assertEqual(tensors.take_counts()["deleted"], 1)

    def test_list_that_changes_during_the_call(self):
        """quern holds what it was given until it has run."""
        import weakref
        parts, alive = [self.x.copy()], []
        seen = weakref.ref(parts[0])

        class Clearing(Exported):
            def export(self, **words):
                parts.clear()
                alive.append(seen() is not None)
                return super().export(**words)
        parts.append(Clearing(self.x))
        try:
            quern.concat(parts, out=np.zeros((9, 8), f32))
        except (TypeError, RuntimeError, IndexError):
            pass
        self.assertEqual(alive, [True] * len(alive))

    def test_list_that_grows_during_the_call(self):
        """Views point into themselves, so room for them is made once, before the first is taken."""
        later = []

        class Growing(Exported):
            def export(self, **words):
                later.extend([np.zeros(3, np.int64)] * 8)
                return super().export(**words)
        self.refused(RuntimeError, "index grew during the call", quern.concat, [Growing(self.x)], index=later)


if __name__ == "__main__":
    unittest.main()
