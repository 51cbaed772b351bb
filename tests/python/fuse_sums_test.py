"""quern.fuse with reductions, and gradients of what broadcasts."""
from support import *  # noqa: F403


class FuseSums(Case):
    x, w = numbers(2, 3, 8), numbers(8, seed=2)

    def test_results_have_the_shapes_of_their_kinds(self):
        made = quern.fuse("y = x - max(x); c = sum(x); m = mean(x)")(self.x)
        self.same(made[0], self.x - self.x.max(-1, keepdims=True))
        self.close(made[1], self.x.sum(-1))
        self.close(made[2], self.x.mean(-1))
        self.close(quern.fuse("r = sum_rows(x)")(self.x), self.x.sum((0, 1)))
        self.close(quern.fuse("s = sum_all(x)")(self.x), self.x.sum(), 1e-5)

    def test_given_results(self):
        out = np.zeros((2, 3), f32)
        quern.fuse("c = sum(x * w)")(self.x, self.w, out=out)
        self.close(out, (self.x * self.w).sum(-1))

    def test_gradients_of_rows_columns_and_elements(self):
        c, d = numbers(2, 3, seed=3), numbers(2, 3, 8, seed=4)
        g = quern.fuse("w: row; c: column; m: number; out = x * w + c * m").gradient("w", "c", "m")
        for _ in range(2):  # sums leave their workspace as they found it
            d_w, d_c, d_m = g(x=self.x, c=c, m=0.5, d_out=d)
            self.close(d_w, (d * self.x).sum((0, 1)), 1e-5)
            self.close(d_c, 0.5 * d.sum(-1), 1e-5)
            self.close(d_m, (d * c[..., None]).sum(), 1e-5)


if __name__ == "__main__":
    unittest.main()
