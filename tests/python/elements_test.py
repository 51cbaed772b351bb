"""Element types, shapes and strides of NumPy's arrays."""
from support import *  # noqa: F403


class Types(Case):
    index = np.array([2, 0])

    def test_result_has_the_type_of_the_input(self):
        for dtype in (f64, f32, bf16, f16, e4m3, np.int64, np.int32, np.int16, np.int8, np.uint8, np.complex64,
                      np.complex128):
            with self.subTest(dtype=dtype):
                x = np.arange(18).reshape(3, 6).astype(dtype)
                self.same(quern.gather(x, self.index), x[self.index])

    def test_types_of_two_bytes_in_turn(self):
        """NumPy does not know bf16: to it such an array is bits. A plan for f16 must not serve it."""
        for _ in range(2):
            for dtype in (f16, bf16):
                x = numbers(3, 12, dtype=dtype)
                with self.subTest(dtype=dtype):
                    self.same(quern.gather(x, self.index), x[self.index])
                    self.same(quern.pointwise(x, x, op="add_mul_act", bias_spread="none", multiplier=1),
                              np.maximum(x.astype(f32) + x.astype(f32), 0).astype(dtype))

    def test_types_of_one_byte_in_turn(self):
        for _ in range(2):
            for dtype in (np.uint8, e4m3, np.int8):
                x = np.arange(36).reshape(3, 12).astype(dtype)
                with self.subTest(dtype=dtype):
                    self.same(quern.gather(x, self.index), x[self.index])

    def test_e5m2(self):
        x = np.arange(12).reshape(3, 4).astype(e5m2)
        self.same(quern.gather(x, self.index, dtype="e5m2"), x[self.index])

    def test_bits(self):
        x = numbers(3, 4, dtype=bf16)
        for given in (x.view(np.uint16), x):
            self.same(bits(quern.gather(given, self.index, dtype="bf16")), x[self.index].view(np.uint16))
        x = numbers(3, 4, dtype=f16).view(np.uint16)  # a type that NumPy has is given as itself
        self.refused(quern.Error, "uint16", quern.gather, x, self.index, dtype="f16")
        x = numbers(3, 4, dtype=e4m3).view(np.uint8)
        self.same(bits(quern.gather(x, self.index, dtype="e4m3")), x[self.index])

    def test_bits_in_arithmetic(self):
        x = numbers(5, 8, dtype=bf16)
        got = quern.pointwise(x.view(np.uint16), bias_spread="none", dtype="bf16")
        self.same(bits(got), np.maximum(x, bf16(0)).view(np.uint16))

    def test_names_of_types(self):
        x = numbers(3, 4, dtype=f16)
        for dtype in (f16, np.dtype("float16"), "float16", "f16", "half"):
            self.same(quern.gather(x, self.index, dtype=dtype), x[self.index])

    def test_bool_mask(self):
        mask = np.array([[1, 0, 1, 0], [0, 1, 0, 0]], bool)
        counts = quern.moe_map(mask, map_="mask", topk=2)[0]
        self.same(counts, np.array([1, 1, 1, 0], np.int32))
        for word in ("map", "map_"):
            other = quern.moe_map(mask.view(np.uint8), topk=2, **{"map_": "mask"})[0]
            self.same(other, counts)

    def test_type_by_the_operands_name(self):
        x, probs = numbers(3, 4), np.array([0.5, 2], f16)
        self.close(quern.gather(x, self.index, scale=probs), x[self.index] * probs[:, None].astype(f32))


class Strides(Case):
    index = np.array([2, 0])

    def test_become_fields(self):
        x = numbers(3, 10)
        for part in (x[:, :5], x[:, 5:], x[:, 1:6]):
            self.same(quern.gather(part, self.index), part[self.index])
        wide = np.zeros((2, 8), f32)
        quern.gather(x[:, :5], self.index, out=wide[:, 2:7])
        self.same(np.ascontiguousarray(wide[:, 2:7]), x[self.index, :5])
        self.assertFalse(wide[:, :2].any() or wide[:, 7:].any())

    def test_given_and_made_results_alternate(self):
        """A plan for rows with gaps serves only calls that give them."""
        x = numbers(3, 13)  # no other test has such a problem; likewise below
        self.same(quern.gather(x, self.index), x[self.index])
        wide = np.zeros((2, 16), f32)
        for _ in range(2):
            quern.gather(x, self.index, out=wide[:, :13])
            self.same(np.ascontiguousarray(wide[:, :13]), x[self.index])
            self.same(quern.gather(x, self.index), x[self.index])

    def test_given_result_first(self):
        x = numbers(3, 12)
        wide = np.zeros((2, 16), f32)
        quern.gather(x, self.index, out=wide[:, :12])
        self.same(quern.gather(x, self.index), x[self.index])

    def test_of_a_plan(self):
        x, out = numbers(3, 8), np.zeros((2, 4), f32)
        quern.prepare("gather width=4 dtype=f32 source_stride=8").launch(x[:, :4], self.index, out)
        self.same(out, x[self.index, :4])

    def test_of_lists(self):
        for a, b in ((numbers(3, 8)[:, :2], numbers(3, 4)), (numbers(3, 4), numbers(3, 8)[:, :2]),
                     (numbers(3, 8)[:, :2], numbers(3, 9)[:, 1:5])):
            with self.subTest(strides=(a.strides, b.strides)):
                self.same(quern.concat([a, b]), np.concatenate([a, b], 1))

    def test_of_queries(self):
        packed = numbers(2, 3, 12, 8)
        angle = np.arange(3)[:, None] * 10000.0 ** (-2 * np.arange(4) / 8)[None]
        words = {"cos": np.cos(angle).astype(f32), "sin": np.sin(angle).astype(f32)}
        q = packed[:, :, :4]
        self.same(quern.rope(q, **words), quern.rope(q.copy(), **words))
        turned = np.ascontiguousarray(q.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)  # [batch, heads, seq] in memory
        self.same(quern.rope(turned, **words), quern.rope(q.copy(), **words))

    def test_not_one_after_the_other(self):
        self.refused(quern.Error, "leading dimensions are not one after the other", quern.pointwise,
                     numbers(4, 3, 4)[::2], bias_spread="none")


class Shapes(Case):
    def test_leading_dimensions(self):
        x, index = numbers(2, 3, 4), np.array([[5, 0, 1], [2, 2, 3]])
        self.same(quern.gather(x.reshape(6, 4), index[0]), x.reshape(6, 4)[index[0]])
        for shape in ((2, 3, 4), (1, 6, 4), (1, 1, 2, 3, 1, 1, 4), (6, 4), (3, 1, 2, 4)):
            y = x.reshape(shape)
            self.same(quern.pointwise(y, bias_spread="none"), np.maximum(y, 0))
        wide = numbers(2, 3, 8)[..., :4]
        self.same(quern.pointwise(wide, bias_spread="none"), np.maximum(wide, 0))

    def test_fewer_dimensions(self):
        self.same(quern.pointwise(numbers(4), bias_spread="none"), np.maximum(numbers(4), 0))
        x = numbers(3, 4)
        self.same(quern.gather(x, np.array(2)), x[2:3])
        out = np.zeros(4, f32)
        quern.prepare("gather width=4 dtype=f32").launch(x, np.array(2), out)
        self.same(out, x[2])

    def test_0d_of_all(self):
        got = quern.pointwise(np.array(-3, f32), bias_spread="none", activation="abs")
        self.assertEqual(float(got.reshape(())), 3)

    def test_empty(self):
        x = numbers(3, 4)
        self.same(quern.gather(x, np.zeros(0, int)), x[:0])
        self.same(quern.gather(x[:0], np.zeros(0, int)), x[:0])
        self.same(quern.pointwise(x[:0], bias_spread="none"), x[:0])
        self.same(quern.concat([x[:0], x[:0]]), np.zeros((0, 8), f32))
        self.same(quern.concat([x, x[:, :0], x]), np.concatenate([x, x], 1))
        self.same(quern.gather(np.zeros((0, 8), f32)[:, :4], np.zeros(0, int)), x[:0])
        out, order = quern.index_sort(np.zeros(0, int), rows=4)
        self.assertEqual((out.shape, order.shape), ((0,), (0,)))

    def test_no_columns(self):
        self.same(quern.gather(np.zeros((3, 0), f32), np.array([1, 1])), np.zeros((2, 0), f32))

    def test_subclasses_and_others(self):
        x, index = numbers(3, 4), np.array([2, 0])
        self.same(quern.gather(np.asmatrix(x), index), x[index])
        with_memmap = np.frombuffer(x.tobytes(), f32).reshape(3, 4)  # read-only
        self.same(quern.gather(with_memmap, index), x[index])
        unaligned = np.zeros(49, np.uint8)[1:].view(np.uint8)
        unaligned[:] = np.frombuffer(x.tobytes(), np.uint8)
        self.assertFalse(unaligned.ctypes.data % 4 == 0)
        with self.assertRaises(quern.Error) as raised:
            quern.gather(unaligned.view(f32).reshape(3, 4), index)
        self.assertIn("source", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
