"""embedding's backward pass against NumPy: gradients of rows, and updates in place."""
from support import *  # noqa: F403

i64 = np.int64


class Gradients(Case):
    index = np.array([[6, 7, 0], [0, 3, 8], [3, 3, 3], [6, 7, 8]])
    rows, dims = (7, 8, 9), (4, 6, 2)
    gradient = numbers(4, 12)

    def sums(self, index, gradient):
        made, first = [], 0
        for t, (rows, dim) in enumerate(zip(self.rows, self.dims)):
            table = np.zeros((rows, dim), f32)
            np.add.at(table, index[:, t], gradient[:, first : first + dim])
            made.append(table)
            first += dim
        return made

    def settings(self):
        return dict(pass_="backward", tables=3, rows=self.rows, dim=self.dims)

    def test_of_rows_that_ids_name(self):
        made = quern.embedding(index=self.index, gradient=self.gradient, **self.settings())
        for got, want in zip(made, self.sums(self.index, self.gradient)):
            self.same(got, want)

    def test_of_a_dense_part(self):
        gradient = np.concatenate([numbers(4, 3, seed=2), self.gradient], 1)
        made, dense = quern.embedding(index=self.index, gradient=gradient, dense_=3, **self.settings())
        self.same(dense, gradient[:, :3])
        for got, want in zip(made, self.sums(self.index, self.gradient)):
            self.same(got, want)

    def test_updates_in_place(self):
        tables = [numbers(*shape, seed=5 + i) for i, shape in enumerate(zip(self.rows, self.dims))]
        wants = [t - g for t, g in zip(tables, self.sums(self.index, self.gradient))]
        quern.embedding(
            index=self.index, gradient=self.gradient, updated=tables, optimizer="sgd", learning_rate=1.0, pass_="backward"
        )
        for got, want in zip(tables, wants):
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
