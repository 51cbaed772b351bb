"""embedding against NumPy: look-ups, hashes, modes, 8-bit tables and bags."""
from support import *  # noqa: F403

i64 = np.int64


def tables(*shapes):
    return [numbers(*shape, seed=10 + i) for i, shape in enumerate(shapes)]


class Lookup(Case):
    weights = tables((7, 4), (80, 6), (9, 2))
    index = np.array([[6, 79, 0], [0, 3, 8], [3, 3, 3], [1, 50, 7]])

    def rows(self, index):
        return np.concatenate([w[index[:, t]] for t, w in enumerate(self.weights)], 1)

    def test_rows_side_by_side(self):
        self.same(quern.embedding(self.weights, self.index), self.rows(self.index))
        self.same(quern.embedding(tuple(self.weights), self.index.astype(np.int32)), self.rows(self.index))

    def test_dense_part(self):
        dense = numbers(4, 3)
        self.same(quern.embedding(self.weights, self.index, dense=dense), np.concatenate([dense, self.rows(self.index)], 1))

    def test_modulus(self):
        ids = np.array([[0, -1, 2**32 - 1], [2**63 - 1, -7, 5], [-(2**63), 80, -10], [12345678901, 79, 8]])
        with np.errstate(over="ignore"):
            rows = np.stack([(ids[:, t] + 1) % len(w) for t, w in enumerate(self.weights)], 1)
        self.same(quern.embedding(self.weights, ids, hash="modulus"), self.rows(rows))

    def test_packed_tables(self):
        w = self.weights
        packed = np.concatenate([table.ravel() for table in (w[2], w[0], w[1])])
        places = np.array([[w[2].size, 7], [w[2].size + w[0].size, 80], [0, 9]])
        fields = dict(packed=packed, places=places, layout="packed", dim=(4, 6, 2))
        self.same(quern.embedding(index=self.index, rows=(7, 80, 9), **fields), self.rows(self.index))
        # Fewer rows than there may be: 50 is past the end.
        places[1, 1] = 50
        cut = quern.embedding(index=self.index, rows=(7, 80, 9), mode="clamp", **fields)
        self.same(cut, self.rows(np.minimum(self.index, [6, 49, 8])))

    def test_modes(self):
        table, index = numbers(5, 4), np.array([[2], [-1], [5]])
        zeros = np.zeros(4, f32)
        self.same(quern.embedding([table], index, mode="zero"), np.stack([table[2], zeros, zeros]))
        self.same(quern.embedding([table], index, mode="clamp"), table[[2, 0, 4]])
        self.same(quern.embedding([table], index, mode="first"), table[[2, 0, 0]])
        report = np.array([-1], i64)
        self.same(quern.embedding([table], index, mode="report_first", report=report), table[[2, 0, 0]])
        self.same(report, np.array([1], i64))

    def test_other_types(self):
        table = numbers(9, 8)
        index = np.array([[3], [8]])
        self.same(quern.embedding([table.astype(f16)], index), table.astype(f16)[index[:, 0]])
        self.same(quern.embedding([table.astype(f16)], index, dtype="f32"), table.astype(f16)[index[:, 0]].astype(f32))
        self.same(quern.embedding([table], index, dtype="f16"), table[index[:, 0]].astype(f16))

    def test_8_bit_tables_with_scales(self):
        codes = np.arange(-40, 40, dtype=np.int8).reshape(10, 8)
        scales, other = numbers(10), numbers(6, 4)
        index = np.array([[9, 0], [0, 5], [4, 2]])
        want = np.concatenate([codes[index[:, 0]] * scales[index[:, 0], None], other[index[:, 1]]], 1)
        self.same(quern.embedding([codes, other], index, scales=[scales, None]), want)

    def test_out_in_8_bits(self):
        dense = numbers(4, 3)
        want = np.concatenate([dense, self.rows(self.index)], 1)
        out, scales = quern.embedding(self.weights, self.index, dense=dense, scaling="row", scale_mode="exact")
        self.close(scales.reshape(4), np.abs(want).max(1) / f32(448))
        other, others = quern.mxfp8(want, scaling="row", mode="exact")
        self.same(out.view(np.uint8), other.view(np.uint8))
        self.same(scales.reshape(4), others.reshape(4))
        given = quern.embedding(self.weights, self.index, given_scale=np.array([2], f32), scaling="tensor")
        self.close(given.astype(f32), self.rows(self.index) / 2, tolerance=0.07)

    def test_types_as_a_setting(self):
        plan = quern.prepare(quern.Embedding(tables=2, dim=[4, 8], table_dtype=["bf16", np.float32], batch=3))
        self.assertIn("table_dtype=bf16,f32", plan.problem)


class Bags(Case):
    table = numbers(6, 4)
    index, offsets = np.array([0, 5, 5, 2, 1]), np.array([0, 3, 3])  # the second bag is empty

    def bags(self):
        return [self.table[[0, 5, 5]], self.table[[]], self.table[[2, 1]]]

    def test_sum_mean_max(self):
        for pooling in ("sum", "mean", "max"):
            with self.subTest(pooling=pooling):
                want = [getattr(bag, pooling)(0) if len(bag) else np.zeros(4, f32) for bag in self.bags()]
                self.close(quern.embedding([self.table], self.index, self.offsets, pooling=pooling), np.stack(want))

    def test_weights(self):
        weights = numbers(5, seed=3)
        rows = self.table[self.index] * weights[:, None]
        want = np.stack([rows[:3].sum(0), np.zeros(4, f32), rows[3:].sum(0)])
        self.close(quern.embedding([self.table], self.index, self.offsets, weights, pooling="sum"), want)

    def test_lengths(self):
        want = quern.embedding([self.table], self.index, self.offsets, pooling="sum")
        for index in (np.int32, i64):
            lengths = np.array([3, 0, 2], index)
            got = quern.embedding([self.table], self.index, lengths=lengths, bags="lengths", pooling="sum")
            self.same(got, want)

    def test_padding(self):
        want = np.stack([self.table[0], np.zeros(4, f32), self.table[[2, 1]].mean(0)])
        self.close(quern.embedding([self.table], self.index, self.offsets, pooling="mean", padding=5), want)

    def test_two_tables(self):
        other = numbers(3, 2, seed=8)
        index, offsets = np.array([0, 5, 2, 2, 1, 0]), np.array([0, 2, 3, 5])
        want = np.stack(
            [
                np.concatenate([self.table[[0, 5]].sum(0), other[[2, 1]].sum(0)]),
                np.concatenate([self.table[2], other[0]]),
            ]
        )
        self.close(quern.embedding([self.table, other], index, offsets, pooling="sum"), want)


if __name__ == "__main__":
    unittest.main()
