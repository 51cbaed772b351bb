"""Families that move rows, against NumPy: gather, scatter, concat, the pads and the sorts."""
from support import *  # noqa: F403


class Gather(Case):
    def test_rows_of_each_type(self):
        for dtype in (f32, f16, bf16, f64, np.int32, np.uint8):
            for index_dtype in (np.int32, np.int64):
                with self.subTest(dtype=dtype, index=index_dtype):
                    x = np.arange(40).reshape(10, 4).astype(dtype)
                    index = np.array([9, 0, 3, 3], index_dtype)
                    self.same(quern.gather(x, index, dtype="bf16" if dtype is bf16 else dtype), x[index])

    def test_modes(self):
        x, zeros = numbers(5, 4), np.zeros(4, f32)
        self.same(quern.gather(x, np.array([1, -1, 4]), mode="minus_one_is_zero"), np.stack([x[1], zeros, x[4]]))
        self.same(quern.gather(x, np.array([-7, 9]), mode="clamp"), x[[0, 4]])
        self.same(quern.gather(x, np.array([-1, -5]), mode="wrap_negative"), x[[-1, -5]])
        self.same(quern.gather(x, np.array([2, 99]), mode="zero"), np.stack([x[2], zeros]))

    def test_report_is_updated(self):
        x, report = numbers(5, 4), np.array([-1], np.int64)
        out = quern.gather(x, np.array([1, 7, 2, 8]), mode="report", report=report)
        self.same(out[[0, 2]], x[[1, 2]])
        self.same(report, np.array([1], np.int64))

    def test_scale(self):
        x, index, scale = numbers(5, 4), np.array([4, 0]), np.array([2, -0.5], f32)
        self.same(quern.gather(x, index, scale=scale), x[index] * scale[:, None])
        self.same(quern.gather(x, index, scale), x[index] * scale[:, None])

    def test_outer(self):
        x, index = numbers(3, 5, 4), np.array([4, 0])
        self.same(quern.gather(x, index, outer=3), x[:, index])


class Scatter(Case):
    def test_copy(self):
        x, index, out = numbers(3, 4), np.array([4, 0, 2]), numbers(5, 4, seed=2)
        want = out.copy()
        want[index] = x
        self.assertEqual(quern.scatter(x, index, out=out), ())  # an update that is given is the caller's
        self.same(out, want)

    def test_copy_to_zeros(self):
        x, index = numbers(3, 4), np.array([4, 0, 2])
        want = np.zeros((5, 4), f32)
        want[index] = x
        self.same(quern.scatter(x, index, rows=5), want)

    def test_add(self):
        x, index, out = numbers(3, 4), np.array([4, 0, 2]), numbers(5, 4, seed=2)
        want = out.copy()
        want[index] += x
        quern.scatter(x, index, out=out, op="add")
        self.same(out, want)

    def test_add_of_repeated_indices(self):
        x, index = numbers(6, 4), np.array([1, 0, 1, 1, 4, -1])
        order, _ = quern.index_sort(index, rows=5)
        want = np.zeros((5, 4), f32)
        for i, row in zip(index, x):
            if i >= 0:
                want[i] += row
        for _ in range(2):  # the workspace serves again
            got = quern.scatter(x, index, order=order, order_="given", op="add", rows=5, mode="skip", rest="zero")
            self.close(got, want)

    def test_alpha(self):
        x, index, out = numbers(2, 4), np.array([1, 0]), np.ones((2, 4), f32)
        quern.scatter(x, index, out=out, op="add", factor="alpha", alpha=0.25)
        self.close(out, 1 + 0.25 * x[[1, 0]])

    def test_backward(self):
        gradient, index, x = numbers(5, 4), np.array([3, 0]), numbers(2, 4, seed=2)
        scale = numbers(4, seed=3)
        made = quern.scatter(index=index, gradient=gradient, op="add", pass_="backward")
        self.same(made, gradient[index])
        source_gradient, scale_gradient = quern.scatter(
            x, index, gradient=gradient, scale=scale, op="add", pass_="backward")
        self.close(source_gradient, gradient[index] * scale)
        self.close(scale_gradient, (gradient[index] * x).sum(0))


class Concat(Case):
    parts = [numbers(3, 2), numbers(3, 5, seed=2), numbers(3, 1, seed=3)]

    def test_columns(self):
        self.same(quern.concat(self.parts), np.concatenate(self.parts, 1))
        self.same(quern.concat(tuple(self.parts)), np.concatenate(self.parts, 1))

    def test_flat(self):
        parts = [numbers(2, 3), numbers(1, 3, seed=2)]
        self.same(quern.concat(parts, layout="flat", counts=[2, 1]), np.concatenate(parts).ravel())

    def test_index(self):
        index = [np.array([2, 2, 0, 1]), np.array([0, 1, 2, 0]), np.array([1, 1, 1, 1])]
        want = np.concatenate([x[i] for x, i in zip(self.parts, index)], 1)
        self.same(quern.concat(self.parts, index), want)

    def test_backward(self):
        whole = np.concatenate(self.parts, 1)
        outs = quern.concat(source=whole, widths=[2, 5, 1], pass_="backward")
        self.assertIs(type(outs), list)
        for got, want in zip(outs, self.parts):
            self.same(got, want)

    def test_backward_to_given(self):
        whole = np.concatenate(self.parts, 1)
        outs = [np.zeros_like(x) for x in self.parts]
        quern.concat(source=whole, outs=outs, pass_="backward")
        for got, want in zip(outs, self.parts):
            self.same(got, want)

    def test_many(self):
        parts = [numbers(2, 1 + i % 3, seed=i) for i in range(30)]  # more than a launch has on its stack
        self.same(quern.concat(parts), np.concatenate(parts, 1))


class Sorts(Case):
    def test_index_sort(self):
        for dtype in (np.int32, np.int64):
            index = np.random.default_rng(5).integers(-2, 12, 300).astype(dtype)
            order, ordered = quern.index_sort(index, rows=10)
            key = np.where((index < 0) | (index >= 10), 10, index)
            self.same(order, np.argsort(key, kind="stable").astype(np.int32))
            self.same(ordered, np.sort(key).astype(np.int32))

    def test_hash_table(self):
        for dtype in (np.int32, np.int64):
            keys = np.random.default_rng(6).integers(-90, 90, 150).astype(dtype)
            table = quern.hash_table(keys)
            self.assertEqual((table.shape, table.dtype), ((512, 2), np.int64))
            self.assertEqual(sorted(table[table[:, 1] >= 0][:, 0]), sorted(set(keys.tolist())))
            wanted = np.arange(-100, 100).astype(dtype)
            first = [(keys == key).argmax() for key in wanted]  # 0 where there is none
            self.same(quern.hash_table(wanted, table, op="find"), np.array(first))
            self.same(quern.hash_table(wanted.astype(np.int64), table, op="find"), np.array(first))

    def test_hash_table_of_a_capacity(self):
        keys = np.array([3, -1, 3], np.int64)
        table = quern.hash_table(keys, capacity=64)
        self.assertEqual(table.shape, (64, 2))
        given = np.zeros((64, 2), np.int64)
        quern.hash_table(keys, out=given)
        self.same(given, table)
        self.same(quern.hash_table(np.array([-1, 4, 3]), table, op="find"), np.array([1, 0, 0]))

    def test_chunk_sort(self):
        x, sizes, order = numbers(7, 4), np.array([2, 0, 3, 1], np.int32), np.array([3, 0, 2, 1], np.int32)
        pieces = np.split(np.arange(7), np.cumsum(sizes))
        rows = np.concatenate([pieces[i] for i in order] + [pieces[-1]])
        out = quern.chunk_sort(x, sizes, order)
        self.same(out, x[rows])
        self.same(quern.chunk_sort(out, sizes, order, pass_="backward"), x)

    def test_chunk_sort_with_numbers(self):
        x, probs = numbers(4, 4), numbers(4, seed=2)
        sizes, order = np.array([1, 3]), np.array([1, 0])
        out, out_probs = quern.chunk_sort(x, sizes, order, probs)
        self.same(out, x[[1, 2, 3, 0]])
        self.same(out_probs, probs[[1, 2, 3, 0]])


class Pads(Case):
    def test_row_pad(self):
        x, ends = numbers(5, 3), np.array([3, 5], np.int32)
        out, starts, padded_ends = quern.row_pad(x, ends, align=4)
        want = np.zeros((16, 3), f32)  # round_up(5 + 2 * 4, 4)
        want[0:3], want[4:6] = x[0:3], x[3:5]
        self.same(out, want)
        self.same(starts, np.array([0, 4], np.int32))
        self.same(padded_ends, np.array([4, 8], np.int32))
        back = quern.row_pad(out, ends, direction="unpad", align=4, rows=5)
        self.same(back, x)

    def test_row_pad_status(self):
        status = np.zeros(1, np.int32)
        quern.row_pad(numbers(5, 3), np.array([4, 2], np.int32), align=4, status=status)
        self.same(status, np.array([2], np.int32))

    def test_multi_row_pad(self):
        parts = [numbers(3, 2), numbers(1, 4, seed=2)]
        outs = quern.multi_row_pad(parts, padded_rows=[4, 3])
        self.assertIs(type(outs), list)
        self.same(outs[0], np.pad(parts[0], ((0, 1), (0, 0))))
        self.same(outs[1], np.pad(parts[1], ((0, 2), (0, 0))))
        back = quern.multi_row_pad(outs, rows=[3, 1], cols=[2, 4], padded_rows=[4, 3], direction="unpad")
        for got, want in zip(back, parts):
            self.same(got, want)


if __name__ == "__main__":
    unittest.main()
