"""What is refused: by its type, its sentence, and the fields of quern.Error."""
from support import *  # noqa: F403
import tensors

# What a program of its own starts with: these inputs may end the process.
HEAD = """
import sys
sys.path.insert(0, sys.argv[0] or {folder!r})
sys.path.insert(0, {folder!r})
from support import *
x, index = numbers(9, 4), np.array([8, 0, 3])
class Array:
    def __init__(self, **changes):
        self.__array_interface__ = {{k: v for k, v in {{**x.__array_interface__, **changes}}.items() if v != "absent"}}
def refused(call):
    try:
        call()
    except (TypeError, ValueError, quern.Error) as error:
        print(f"refused: {{error}}")
""".format(folder=os.path.dirname(os.path.abspath(__file__)))


def on_cuda(array):
    """An object whose memory is said to be a GPU's."""
    class Array:
        __cuda_array_interface__ = array.__array_interface__
    return Array()


def on_cuda_by_dlpack(array):
    code = {"f": 2, "i": 0}[array.dtype.kind]
    inner = tensors.Tensor(array.ctypes.data, code, 8 * array.itemsize, array.shape, None, array, 2)

    class Array:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, *, stream, max_version=None):
            assert stream == -1  # not to wait: work is enqueued on the caller's own
            return tensors.capsule(inner, True)
    return Array()


class OfPlans(Case):
    x, index = numbers(9, 4), np.array([8, 0, 3])

    def setUp(self):
        self.plan = quern.prepare("gather width=4 dtype=f32")
        self.out = np.zeros((3, 4), f32)

    def tearDown(self):
        self.assertFalse(self.out.any())  # nothing was written

    def no(self, kind, sentence, *args, **words):
        return self.refused(kind, sentence, self.plan.launch, *args, **words)

    def test_fields_of_the_error(self):
        error = self.no(quern.Error, "source is of f64", self.x.astype(f64), self.index, self.out)
        self.assertEqual(error.code, "bad_input")
        self.assertEqual(error.stage, "launch")
        self.assertEqual(error.sentence, "source is of f64; this problem takes f32")
        self.assertEqual(error.family, "gather")
        self.assertEqual(error.problem, "gather width=4 dtype=f32")
        self.assertEqual(str(error), f"launch: {error.sentence} [{error.problem}]")
        self.assertEqual((error.key, error.log, error.driver_code), ("", "", 0))
        self.assertIs(error.lasting, False)
        self.assertIs(error.remembered, False)
        self.assertTrue(issubclass(quern.Error, Exception))

    def test_shape(self):
        self.no(quern.Error, "source has shape [9, 3]", self.x[:, :3].copy(), self.index, self.out)
        self.no(quern.Error, "index has shape [3]; this problem takes [2]", self.x, self.index, self.out, count=2)
        self.no(quern.Error, "shape [2, 4]", self.x, self.index, np.zeros((2, 4), f32))

    def test_stride(self):
        error = self.no(quern.Error, "strides [8, 1]", numbers(9, 8)[:, :4], self.index, self.out)
        self.assertEqual(error.code, "bad_input")
        self.no(quern.Error, "strides [8, 2]", numbers(9, 8)[:, ::2], self.index, self.out)
        self.no(quern.Error, "strides [-4, 1]", self.x[::-1], self.index, self.out)
        self.no(quern.Error, "strides [2]", self.x, np.arange(6)[::2], self.out)

    def test_device(self):
        self.no(quern.Error, "source is on cuda:0", on_cuda(self.x), self.index, self.out)
        self.no(quern.Error, "index is on cuda:0", self.x, on_cuda_by_dlpack(self.index), self.out)

    def test_no_tensor(self):
        for value in ([1, 2], 3, "x", object(), b"1234", {}):
            self.no(TypeError, f"source is a {type(value).__name__}; it takes a tensor", value, self.index, self.out)

    def test_words(self):
        self.no(quern.Error, "gather has no number nothing", self.x, self.index, self.out, nothing=3)
        self.no(TypeError, "", self.x, self.index, self.out, count="three")
        self.no(OverflowError, "", self.x, self.index, self.out, count=2**70)
        error = self.no(quern.Error, "", self.x, self.index)
        self.assertIn("out", error.sentence)
        self.no(TypeError, "launch takes 3 tensors (source, index, out), not 4 or more",
                self.x, self.index, self.out, self.out)

    def test_too_many_numbers(self):
        words = {f"n{i}": 1 for i in range(17)}
        self.no(TypeError, "too many numbers", self.x, self.index, self.out, **words)

    def test_given_twice(self):
        self.no(TypeError, "out is given twice", self.x, self.index, self.out, out=self.out)

    def test_numbers_that_are_no_extents(self):
        for value in (float("nan"), float("inf"), -2, 3.5):
            with self.subTest(value=value):
                with self.assertRaises((TypeError, ValueError, OverflowError, quern.Error)) as raised:
                    self.plan.launch(self.x, self.index, self.out.copy(), count=value)
                self.assertNotIn("-9223372036854775808", str(raised.exception))

    def test_read_only(self):
        self.out.flags.writeable = False
        self.no(ValueError, "out is read-only", self.x, self.index, self.out)
        self.no(ValueError, "out is read-only", self.x, self.index, out=self.out)
        x = self.x.copy()
        x.flags.writeable = False
        out = np.zeros((3, 4), f32)
        self.plan.launch(x, self.index, out)  # inputs may be
        self.same(out, x[self.index])

    def test_workspace(self):
        plan = quern.prepare("index_sort rows=4")
        index, order, ordered = np.arange(3), np.zeros(3, np.int32), np.zeros(3, np.int32)
        error = self.refused(quern.Error, "workspace has shape [10]", plan.launch, index, order, ordered,
                             np.zeros(10, np.int32))
        self.assertEqual((error.code, error.stage, error.family), ("bad_input", "launch", "index_sort"))
        self.refused(quern.Error, "workspace", plan.launch, index, order, ordered)
        self.refused(quern.Error, "workspace is of i64", plan.launch, index, order, ordered, np.zeros(300000, int))
        self.assertFalse(order.any())


class OfFunctions(Case):
    x, index = numbers(9, 4), np.array([8, 0, 3])

    def no(self, kind, sentence, *args, **words):
        return self.refused(kind, sentence, quern.gather, *args, **words)

    def test_tensors(self):
        self.no(quern.Error, "source is of f32; this problem takes f64", self.x, self.index, dtype="f64")
        self.no(quern.Error, "index is of f32", self.x, self.index.astype(f32))
        self.no(quern.Error, "source is of uint32", self.x.astype(np.uint32), self.index)
        self.no(quern.Error, "takes [9, 5]", self.x, self.index, width=5)
        self.no(quern.Error, "shape [2, 4]", self.x, self.index, out=np.zeros((2, 4), f32))
        self.no(quern.Error, "strides [4, -1]", self.x[:, ::-1], self.index)
        self.no(quern.Error, "strides [-4, 1]", self.x[::-1], self.index)
        self.no(quern.Error, "strides [0, 1]", np.broadcast_to(self.x[0], (9, 4)), self.index)
        self.no(quern.Error, "source is on cuda:0", on_cuda(self.x), self.index)
        self.no(quern.Error, "index is on cuda:0", self.x, on_cuda_by_dlpack(self.index))
        self.no(TypeError, "source is a list", self.x.tolist(), self.index)
        self.no(TypeError, "index is a list", self.x, [1, 2])
        uneven = np.zeros((9, 4), [("a", f32), ("b", np.uint8)])["a"]
        self.no(ValueError, "source has a stride that is not a multiple of its element size", uneven, self.index)
        self.no(ValueError, "more than 16 dimensions", self.x.reshape((1,) * 16 + (9, 4)), self.index)

    def test_odd_rows_of_two_halves(self):
        sentence = "x has shape [6, 17]; its last dimension must be even: it is 2 times width"
        for layout in ("halves", "swapped", "interleaved"):
            error = self.refused(quern.Error, sentence, quern.glu, numbers(6, 17), layout=layout)
            self.assertEqual((error.code, error.stage, error.family), ("bad_input", "launch", "glu"))
        self.refused(quern.Error, sentence, quern.glu, numbers(6, 17), gradient=numbers(6, 8), pass_="backward")
        self.refused(quern.Error, "takes [6, 16]", quern.glu, numbers(6, 17), width=8)
        self.assertEqual(quern.glu(numbers(6, 17), numbers(6, 17), layout="split").shape, (6, 17))

    def test_words(self):
        self.no(TypeError, "gather has no field, operand or number nothing; help(quern.gather)", self.x, self.index,
                nothing=3)
        self.no(TypeError, "gather takes fewer tensors than 4 by position", self.x, self.index, self.x, self.x)
        self.no(TypeError, "source is given twice", self.x, self.index, source=self.x)
        self.no(TypeError, "this problem needs index: gather width=4", self.x)
        self.no(TypeError, "gather takes at least one tensor")
        self.no(TypeError, "gather takes at least one tensor", None, None)
        self.no(TypeError, "runtime takes a quern.Runtime", self.x, self.index, runtime="host")
        self.refused(TypeError, "sources takes a list of tensors", quern.concat, self.x)
        self.refused(TypeError, "sources is a int", quern.concat, [self.x, 3])
        self.refused(TypeError, "must be real number", quern.pointwise, self.x, bias_spread="none", alpha="a")

    def test_settings(self):
        error = self.no(quern.Error, "mode=bad is not accepted by gather", self.x, self.index, mode="bad")
        self.assertEqual((error.code, error.stage, error.family), ("bad_input", "problem", "gather"))
        self.no(quern.Error, 'a "b', self.x, self.index, mode='a "b')
        self.no(quern.Error, "is not accepted by gather", self.x, self.index, mode=object())
        self.no(quern.Error, str(2**70), self.x, self.index, width=2**70)
        self.no(quern.Error, "mode is given twice", self.x, self.index, mode="zero", mode_="clamp")

    def test_another_operand(self):
        self.no(TypeError, "this problem has no report: gather width=4", self.x, self.index, report=np.zeros(1, int))

    def test_read_only_result(self):
        out = np.zeros((3, 4), f32)
        out.flags.writeable = False
        self.no(ValueError, "out is read-only", self.x, self.index, out=out)

    def test_too_long_a_list(self):
        self.refused(quern.Error, "sources.64", quern.concat, [self.x] * 65)

    def test_elements(self):
        for dtype in (">f4", object, "U4", "M8[s]", "S4"):
            with self.subTest(dtype=dtype):
                self.no(TypeError, "which quern does not read", np.zeros((9, 4), dtype), self.index)
        self.no(TypeError, "which quern does not read", self.x, self.index.astype(">i8"))
        self.no(quern.Error, "source is of float128", self.x.astype(np.longdouble), self.index)
        self.no(quern.Error, "source is of opaque32", np.zeros((9, 4), [("a", f32)]), self.index)


class OfTexts(Case):
    def test_problems(self):
        error = self.refused(quern.Error, 'there is no family "gathr"; did you mean gather?', quern.prepare, "gathr")
        self.assertEqual((error.code, error.stage), ("bad_input", "problem"))
        for value in ("", None, 3):
            self.refused(quern.Error, "there is no family", quern.prepare, value)
        self.refused(UnicodeEncodeError, "surrogates", quern.prepare, "gather \udcff")
        self.refused(TypeError, "", quern.prepare)
        self.refused(TypeError, "", quern.prepare, "gather", nothing=1)

    def test_zero_byte(self):
        with self.assertRaises((ValueError, quern.Error)):
            quern.prepare("gather width=4 dtype=f32\0 nothing=3")

    def test_config_of_another_type(self):
        self.refused(TypeError, "config", quern.gather, numbers(9, 4), np.array([1]), config=3)


class OfSettings(Case):
    """Values of fields, as texts."""

    def test_numbers(self):
        for value, text in ((4, "4"), (True, "1"), (np.int64(4), "4"), (np.uint8(200), "200"), (2**40, str(2**40))):
            self.assertEqual(str(quern.Gather(width=value)), f"gather width={text}")

    def test_floats(self):
        """No part of the number is lost: 4.0 is refused, or 4."""
        for value in (4.0, 1e4, 1.5, 0.25, np.float32(4), np.float64(1.5)):
            with self.subTest(value=value):
                text = str(quern.Gather(width=value)).split("=")[1]
                self.assertEqual(float(text), float(value))

    def test_float_where_an_integer_is_expected(self):
        q = numbers(1, 3, 2, 8)
        want = quern.rope(q, table="computed", theta=500000)
        try:
            got = quern.rope(q, table="computed", theta=500000.0)
        except quern.Error as error:
            self.assertIn("500000", error.sentence)
        else:
            self.same(got, want)
        error = self.refused(quern.Error, "old_context=1.5", quern.rope, q, table="computed", rope_scaling="llama3",
                             old_context=1.5)
        self.assertEqual(error.code, "bad_input")

    def test_list_that_changes_between_calls(self):
        whole, widths = numbers(3, 8), [2, 5, 1]
        for changed in ([2, 5, 1], [1, 1, 6], [2, 5, 1]):
            widths[:] = changed
            outs = quern.concat(source=whole, widths=widths, pass_="backward")
            self.assertEqual([out.shape[1] for out in outs], changed)

    def test_arrays(self):
        """Of numbers, where lists are: taken or refused by name, also where an earlier call gave a list."""
        whole = numbers(3, 8)
        quern.concat(source=whole, widths=[2, 5, 1], pass_="backward")
        try:
            outs = quern.concat(source=whole, widths=np.array([2, 5, 1]), pass_="backward")
        except (quern.Error, TypeError) as error:
            self.assertIn("widths", str(error))
        else:
            self.assertEqual([out.shape[1] for out in outs], [2, 5, 1])

    def test_list_in_itself(self):
        code, _, err = run_program(f"{HEAD}\nwidths = []\nwidths.append(widths)\n"
                                   "try:\n    str(quern.Concat(widths=widths))\n"
                                   "except (RecursionError, ValueError, TypeError):\n    pass\n")
        self.assertEqual(code, 0, err)


class Malformed(Case):
    """Arrays that are not what they should be; each in a process of its own."""

    def check(self, call):
        code, out, err = run_program(f"{HEAD}\nrefused(lambda: {call})")
        self.assertEqual(code, 0, f"{call}: exit code {code}\n{err}")
        self.assertIn("refused: ", out, f"{call}: not refused")

    def test_interface_without_data(self):
        self.check('quern.gather(Array(data="absent"), index)')

    def test_interface_with_none_for_data(self):
        self.check("quern.gather(Array(data=None), index)")

    def test_interface_with_half_of_data(self):
        self.check("quern.gather(Array(data=(x.ctypes.data,)), index)")

    def test_interface_without_shape(self):
        self.check('quern.gather(Array(shape="absent"), index)')

    def test_interface_with_too_few_strides(self):
        self.check("quern.gather(Array(strides=(16,)), index)")

    def test_interface_that_is_no_dict(self):
        self.check("quern.gather(type('Wrong', (), {'__array_interface__': 3})(), index)")

    def test_elements_of_32_bytes(self):
        self.check("quern.gather(np.zeros((9, 8), 'V32')[:, :4], index)")

    def test_elements_of_34_bytes(self):
        self.check("quern.gather(np.zeros((9, 4), 'V34'), index)")

    def test_complex_of_32_bytes(self):
        self.check("quern.gather(np.zeros((9, 8), np.clongdouble)[:, :4], index)")

    def test_operators_without_pytorch(self):
        import sys

        if "torch" in sys.modules:
            self.skipTest("PyTorch is loaded")
        with self.assertRaisesRegex(ImportError, "needs PyTorch 2.10 or newer"):
            quern._quern._register_torch("gather", [], False, [])


if __name__ == "__main__":
    unittest.main()
