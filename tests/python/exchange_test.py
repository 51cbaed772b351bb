"""Tensors of a type with DLPack's exchange table: the tests' own, in tensors.cpp."""
from support import *  # noqa: F403
import tensors

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class Managing(tensors.Tensor):
    """Without the function for a view."""
    __dlpack_c_exchange_api__ = tensors.managing


class Newer(tensors.Tensor):
    """With the table of a later version, which has that of this one."""
    __dlpack_c_exchange_api__ = tensors.newer


def tensor(array, made=tensors.Tensor):
    strides = None if array.flags.c_contiguous else tuple(x // array.itemsize for x in array.strides)
    return made(array.ctypes.data, CODES[array.dtype.kind], 8 * array.itemsize, array.shape, strides, array)


def array_of(made, dtype):
    return memory_of(made.address, made.shape, dtype).copy()


class ExchangeCase(Case):
    def setUp(self):
        tensors.set("", 0, 0, 1)
        tensors.take_counts()

    tearDown = setUp


class Results(ExchangeCase):
    x, index = numbers(9, 4), np.array([8, 0, 3])

    def test_made_by_the_allocator(self):
        out = quern.gather(tensor(self.x), tensor(self.index))
        self.assertIs(type(out), tensors.Tensor)
        self.assertTrue(out.made)
        self.assertEqual(out.element, (2, 32))
        self.same(array_of(out, f32), self.x[self.index])
        counts = tensors.take_counts()
        self.assertEqual(counts, {"view": 3, "allocate": 1, "to_object": 1})  # no stream: it is the CPU
        del out
        self.assertEqual(tensors.take_counts(), {"freed": 1})

    def test_made_in_the_shape_of_the_first(self):
        out = quern.pointwise(tensor(self.x.reshape(3, 3, 4)), bias_spread="none")
        self.assertEqual(out.shape, (3, 3, 4))
        self.same(array_of(out, f32), np.maximum(self.x, 0).reshape(3, 3, 4))

    def test_elements_of_results(self):
        out, scales = quern.mxfp8(tensor(numbers(4, 64)))
        self.assertEqual((out.element, scales.element), ((10, 8), (14, 8)))
        want, want_scales = quern.mxfp8(numbers(4, 64))
        self.same(array_of(out, e4m3), want)
        self.same(array_of(scales, e8m0), want_scales)

    def test_with_numpy(self):
        out = quern.gather(tensor(self.x), self.index)
        self.same(array_of(out, f32), self.x[self.index])
        out = quern.gather(self.x, tensor(self.index))
        self.same(out, self.x[self.index])

    def test_given_result(self):
        out = np.zeros((3, 4), f32)
        given = tensor(out)
        self.assertIs(quern.gather(tensor(self.x), tensor(self.index), out=given), given)
        self.same(out, self.x[self.index])
        self.assertEqual(tensors.take_counts(), {"view": 3})

    def test_update_is_filled(self):
        out = quern.scatter(tensor(self.x[:3]), tensor(self.index), rows=9)
        counts = tensors.take_counts()
        self.assertEqual(counts["fill_"], 1)
        want = np.zeros((9, 4), f32)
        want[self.index] = self.x[:3]
        self.same(array_of(out, f32), want)

    def test_workspace_is_filled(self):
        order, ordered = quern.index_sort(tensor(self.index), rows=9)
        self.same(array_of(order, np.int32), np.array([1, 2, 0], np.int32))
        self.assertEqual(tensors.take_counts()["fill_"], 1)

    def test_strides(self):
        wide = numbers(9, 8)
        out = quern.gather(tensor(wide[:, :4]), tensor(self.index))
        self.same(array_of(out, f32), wide[self.index, :4])

    def test_list(self):
        out = quern.concat([tensor(self.x), tensor(numbers(9, 2))])
        self.same(array_of(out, f32), np.concatenate([self.x, numbers(9, 2)], 1))


class Views(ExchangeCase):
    x, index = numbers(9, 4), np.array([8, 0, 3])

    def launch(self, made):
        out = np.zeros((3, 4), f32)
        quern.prepare("gather width=4 dtype=f32").launch(tensor(self.x, made), tensor(self.index, made),
                                                         tensor(out, made))
        self.same(out, self.x[self.index])
        return tensors.take_counts()

    def test_launch(self):
        self.assertEqual(self.launch(tensors.Tensor), {"view": 3})

    def test_without_a_view(self):
        self.assertEqual(self.launch(Managing), {"from_object": 3, "deleted": 3})

    def test_older_table(self):
        self.assertEqual(self.launch(Newer), {"view": 3})

    def test_no_table_that_is_known(self):
        class Unknown(tensors.Tensor):
            __dlpack_c_exchange_api__ = tensors.only_newer
            __array_interface__ = self.x.__array_interface__
        self.same(quern.gather(Unknown(0, 0, 0, (), None, None), self.index, out=np.zeros((3, 4), f32)),
                  self.x[self.index])

    def test_attribute_that_is_no_table(self):
        class Wrong:
            __dlpack_c_exchange_api__ = 3
            __array_interface__ = self.x.__array_interface__
        out = np.zeros((3, 4), f32)
        quern.gather(Wrong(), self.index, out=out)
        self.same(out, self.x[self.index])

    def test_read_only(self):
        tensors.set("", 0, 1, 1)
        self.refused(ValueError, "out is read-only", self.launch, Managing)
        self.assertEqual(tensors.take_counts(), {"from_object": 3, "deleted": 3})
        tensors.set("", 0, 2, 1)  # another flag: it was copied
        self.launch(Managing)

    def test_of_a_later_version(self):
        """The layout of a managed tensor of version 2 is not known."""
        tensors.set("", 0, 0, 2)
        with self.assertRaises((BufferError, TypeError, ValueError)):
            self.launch(Managing)

    def test_many_types(self):
        """More than are remembered."""
        for _ in range(2):
            for i in range(20):
                made = type(f"Tensor{i}", (tensors.Tensor,), {"__dlpack_c_exchange_api__": tensors.viewing})
                self.assertEqual(self.launch(made), {"view": 3})


class Errors(ExchangeCase):
    x, index = numbers(9, 4), np.array([8, 0, 3])

    def test_of_a_view(self):
        tensors.set("view", 0, 0, 1)
        self.refused(LookupError, "view failed", quern.gather, tensor(self.x), tensor(self.index))
        self.refused(LookupError, "view failed", quern.prepare("gather width=4 dtype=f32").launch, tensor(self.x))

    def test_of_from_object(self):
        tensors.set("from_object", 0, 0, 1)
        self.refused(LookupError, "from_object failed", quern.gather, tensor(self.x, Managing), self.index)
        self.assertEqual(tensors.take_counts(), {"from_object": 1})

    def test_of_the_allocator(self):
        tensors.set("allocate", 0, 0, 1)
        with self.assertRaises(Exception) as raised:
            quern.gather(tensor(self.x), tensor(self.index))
        self.assertIn("allocate failed", str(raised.exception))
        self.assertNotIsInstance(raised.exception, SystemError)

    def test_of_to_object(self):
        tensors.set("to_object", 0, 0, 1)
        self.refused(LookupError, "to_object failed", quern.gather, tensor(self.x), tensor(self.index))
        counts = tensors.take_counts()
        self.assertEqual((counts["allocate"], counts["freed"]), (1, 1))

    def test_of_fill(self):
        tensors.set("fill_", 0, 0, 1)
        self.refused(LookupError, "fill_ failed", quern.index_sort, tensor(self.index), rows=9)
        counts = tensors.take_counts()
        self.assertEqual(counts["allocate"], counts["freed"])

    def test_works_again(self):
        self.test_of_a_view()
        tensors.set("", 0, 0, 1)
        self.same(array_of(quern.gather(tensor(self.x), tensor(self.index)), f32), self.x[self.index])

    def test_results_are_freed_when_the_launch_is_refused(self):
        x = tensor(self.x)
        for _ in range(10):
            self.refused(quern.Error, "index is of f32", quern.gather, x, tensor(self.x[0]))
        counts = tensors.take_counts()
        self.assertEqual(counts.get("allocate", 0), counts.get("freed", 0))


if __name__ == "__main__":
    unittest.main()
