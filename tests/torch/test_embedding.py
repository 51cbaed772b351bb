"""Gradients of torch.ops.quern.embedding beside PyTorch's, and updates of its tables beside PyTorch's optimizers."""
import torch
import torch.nn.functional as F
from support import DEVICE, TorchTest, ints, main, rand

import quern.torch as qt

_ops = torch.ops.quern


class EmbeddingGradients(TorchTest):
    def setUp(self):
        super().setUp()
        self.tables = [rand(7, 4, grad=True), rand(5, 3, grad=True)]
        self.index = torch.stack([torch.randint(7, (20,)), torch.randint(5, (20,))], 1).to(DEVICE)

    def eager(self):
        return [t[self.index[:, i]] for i, t in enumerate(self.tables)]

    def test_rows_side_by_side_behind_a_dense_part(self):
        dense = rand(20, 2, grad=True)
        got = _ops.embedding(self.tables, self.index, dense=dense)
        self.assertSameGradients(got, torch.cat([dense] + self.eager(), 1), (dense, *self.tables))

    def test_hashed_ids(self):
        ids = self.index * 1000 - 777
        got = _ops.embedding(self.tables, ids, hash="modulus")
        expected = [t[(ids[:, i] + 1) % len(t)] for i, t in enumerate(self.tables)]
        self.assertSameGradients(got, torch.cat(expected, 1), self.tables)

    def test_packed_tables(self):
        a, b = (t.detach() for t in self.tables)
        packed = torch.cat([b.flatten(), a.flatten()])
        places = torch.tensor([[b.numel(), 7], [0, 5]], device=DEVICE)
        settings = dict(places=places, layout="packed", dim=[4, 3], rows=[7, 5])
        dense = rand(20, 2, grad=True)
        (got,) = _ops.embedding([], self.index, packed=packed, dense=dense, **settings)
        self.assertEqual(got.tolist(), torch.cat([dense] + self.eager(), 1).tolist())
        got.sum().backward()
        self.assertEqual(dense.grad.tolist(), torch.ones_like(dense).tolist())
        (got,) = _ops.embedding([], self.index, packed=packed.requires_grad_(), **settings)
        with self.assertRaisesRegex(RuntimeError, "layout=packed has no gradient of rows; give the tables as a list"):
            got.sum().backward()

    def test_dense_alone_needs_no_launch(self):
        dense = rand(20, 2, grad=True)
        tables = [t.detach() for t in self.tables]
        got = _ops.embedding(tables, self.index, dense=dense)
        self.assertSameGradients(got, torch.cat([dense] + [t[self.index[:, i]] for i, t in enumerate(tables)], 1), (dense,))

    def test_autocast_widens_the_dense_part(self):
        narrow = [self.tables[0].detach().bfloat16(), self.tables[1].detach()]
        for dense in (rand(20, 2, dtype=torch.bfloat16), rand(20, 2)):
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                (got,) = _ops.embedding(narrow, self.index, dense=dense)
                expected = torch.cat([dense] + [t[self.index[:, i]] for i, t in enumerate(narrow)], 1)
            self.assertEqual(got.dtype, torch.float32)
            self.assertClose(got, expected)
        quantized = [torch.randint(-9, 9, (7, 4), dtype=torch.int8, device=DEVICE)]
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            (got,) = _ops.embedding(quantized, self.index[:, :1].contiguous(), dense=rand(20, 2, dtype=torch.bfloat16))
        self.assertEqual(got.dtype, torch.bfloat16)

    def test_bags(self):
        ids, offsets = torch.randint(7, (30,), device=DEVICE), ints([0, 4, 4, 11, 29], torch.int64)
        table, weights = self.tables[0], rand(30, grad=True)
        for pooling in ("sum", "mean", "max"):
            for padding in (None, 3):
                settings = {} if padding is None else dict(padding=[padding])
                got = _ops.embedding([table], ids, offsets, pooling=pooling, batch=5, **settings)
                expected = F.embedding_bag(ids, table, offsets, mode=pooling, padding_idx=padding)
                self.assertSameGradients(got, expected, (table,))
        got = _ops.embedding([table], ids, offsets, weights, pooling="sum", batch=5)
        expected = F.embedding_bag(ids, table, offsets, mode="sum", per_sample_weights=weights)
        self.assertSameGradients(got, expected, (table, weights))


    def test_bags_by_lengths(self):
        ids, lengths = torch.randint(7, (30,), device=DEVICE), ints([4, 0, 7, 18, 1], torch.int64)
        table, offsets = self.tables[0], ints([0, 4, 4, 11, 29], torch.int64)
        got = _ops.embedding([table], ids, lengths=lengths, bags="lengths", pooling="mean", batch=5)
        self.assertSameGradients(got, F.embedding_bag(ids, table, offsets, mode="mean"), (table,))


class EmbeddingUpdates(TorchTest):
    def setUp(self):
        super().setUp()
        self.tables = [rand(7, 4), rand(5, 3)]
        self.index = torch.stack([torch.randint(6, (20,)), torch.randint(5, (20,))], 1).to(DEVICE)
        self.gradient = rand(20, 7)

    def gradients(self):
        """Dense ones."""
        made = [torch.zeros_like(t) for t in self.tables]
        for i, part in enumerate(self.gradient.split([4, 3], 1)):
            made[i].index_add_(0, self.index[:, i], part)
        return made

    def test_sgd(self):
        expected = [t - 0.5 * g for t, g in zip(self.tables, self.gradients())]
        qt.embedding_update(self.gradient, self.tables, self.index, learning_rate=0.5)
        for got, want in zip(self.tables, expected):
            self.assertClose(got, want)

    def test_row_adagrad(self):
        moments = [torch.rand(len(t), device=DEVICE) for t in self.tables]
        sums = [m + g.square().mean(1) for m, g in zip(moments, self.gradients())]
        expected = [t - 0.1 * g / (m.sqrt() + 1e-8)[:, None] for t, g, m in zip(self.tables, self.gradients(), sums)]
        qt.embedding_update(self.gradient, self.tables, self.index, "row_adagrad", 0.1, moments)
        for got, want in zip(self.tables + moments, expected + sums):
            self.assertClose(got, want)

    def test_adam_of_rows_that_ids_name(self):
        moments, squares = ([torch.zeros_like(t) for t in self.tables] for _ in range(2))
        twins = [t.clone().requires_grad_() for t in self.tables]
        adam = torch.optim.Adam(twins, lr=0.1)
        for step in (1, 2, 3):
            for twin, gradient in zip(twins, self.gradients()):
                twin.grad = gradient
            adam.step()
            qt.embedding_update(self.gradient, self.tables, self.index, "adam", 0.1, moments, squares, step=step)
        for got, want in zip(self.tables, twins):
            self.assertClose(got, want.detach(), atol=1e-4)

    def test_a_dense_part_and_bags(self):
        ids, offsets = ints([1, 2, 2, 6], torch.int64), ints([0, 3], torch.int64)
        table, gradient = rand(7, 4), rand(2, 6)
        expected = table.index_add(0, ids, -gradient[[0, 0, 0, 1], 2:])
        qt.embedding_update(gradient, [table], ids, learning_rate=1.0, offsets=offsets, pooling="sum")
        self.assertClose(table, expected)

    def test_under_compile_tables_and_states_are_written_in_place(self):
        moments = [torch.rand(len(t), device=DEVICE) for t in self.tables]
        given = self.tables + moments
        twins = [t.clone() for t in given]

        def step(gradient, tables, index, moments):
            before = tables[0] * 1
            qt.embedding_update(gradient * 2, tables, index, "row_adagrad", 0.1, moments)
            return before, tables[0] + 0

        compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
        for _ in range(2):
            expected = step(self.gradient, twins[:2], self.index, twins[2:])
            got = compiled(self.gradient, given[:2], self.index, given[2:])
            for a, b in zip((*got, *given), (*expected, *twins)):
                self.assertTrue(torch.equal(a, b))
        torch.library.opcheck(
            _ops.embedding_out.default,
            ([], self.index),
            dict(gradient=self.gradient, updated=self.tables, pass_="backward", optimizer="sgd"),
            test_utils=("test_schema", "test_faketensor"),
        )

    def test_lengths(self):
        ids, lengths = ints([1, 2, 2, 6, 5], torch.int64), ints([3, 1], torch.int32)  # the last id is in no bag
        table, gradient = rand(7, 4), rand(2, 4)
        expected = table.index_add(0, ids[:4], -gradient[[0, 0, 0, 1]])
        qt.embedding_update(gradient, [table], ids, learning_rate=1.0, lengths=lengths, pooling="sum")
        self.assertClose(table, expected)

    def test_what_does_not_fit_is_refused(self):
        with self.assertRaisesRegex(ValueError, "gradient has 1 dimensions"):
            qt.embedding_update(self.gradient[0], self.tables, self.index)
        with self.assertRaisesRegex(ValueError, "needs moments"):
            qt.embedding_update(self.gradient, self.tables, self.index, "row_adagrad")
        with self.assertRaisesRegex(ValueError, "has no squares"):
            qt.embedding_update(self.gradient, self.tables, self.index, squares=[])


if __name__ == "__main__":
    main()
