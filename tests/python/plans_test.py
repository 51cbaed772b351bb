"""quern.prepare and Plan: what a plan says of itself, and the ways to launch it."""
from support import *  # noqa: F403


class Describing(Case):
    plan = quern.prepare("gather width=4 dtype=f32")

    def test_texts(self):
        self.assertEqual(self.plan.problem, "gather width=4 dtype=f32")
        self.assertEqual(self.plan.family, "gather")
        self.assertEqual(repr(self.plan), "<quern.Plan 'gather width=4 dtype=f32'>")
        self.assertIn("vector", self.plan.why)
        self.assertIn("default", self.plan.why)

    def test_operands(self):
        source, index, out = self.plan.operands
        self.assertEqual(source, {"name": "source", "role": "input", "dtype": "f32", "shape": (None, 4),
                                  "strides": (4, 1), "multiples": (("rows", 1), None)})
        self.assertEqual((index["name"], index["dtype"], index["shape"]), ("index", "i64", (None,)))
        self.assertEqual((out["name"], out["role"]), ("out", "output"))
        self.assertEqual(quern.places(self.plan.problem), list(self.plan.operands))

    def test_images(self):
        for image in self.plan.images:
            self.assertEqual(set(image), {"step", "variant", "config", "key", "origin", "compile_ms", "registers",
                                          "shared_bytes", "spill_bytes", "alignment"})
            self.assertIn(image["origin"], ("memory", "disk", "compiled"))
        self.assertEqual([image["alignment"] for image in self.plan.images], [16, 4])

    def test_is_not_made_by_hand(self):
        self.refused(TypeError, "quern.Plan", quern.Plan)

    def test_attributes_cannot_be_set(self):
        for name in ("problem", "operands", "images", "why", "family"):
            with self.assertRaises(AttributeError):
                setattr(self.plan, name, None)

    def test_config(self):
        plan = quern.prepare("gather width=4 dtype=f32", config="threads=256")
        self.assertIn("threads=256", plan.images[0]["config"])
        plan = quern.prepare("gather width=4 dtype=f32", "threads=64")
        self.assertIn("threads=64", plan.images[0]["config"])
        error = self.refused(quern.Error, "threads", quern.prepare, "gather width=4", config="threads=7")
        self.assertEqual(error.code, "bad_input")


class Problems(Case):
    def test_text(self):
        self.assertEqual(str(quern.Gather(width=7168)), "gather width=7168")
        self.assertEqual(repr(quern.Gather(width=7168)), "quern.Gather(width=7168)")
        self.assertEqual(str(quern.Glu(pass_="backward", bias=None)), "glu pass=backward bias=none")
        self.assertEqual(repr(quern.Glu(pass_="backward")), "quern.Glu(pass_='backward')")
        self.assertEqual(str(quern.MultiRowPad(rows=[16, 8])), "multi_row_pad rows=16,8")
        self.assertEqual(str(quern.Gather(dtype=np.float32)), "gather dtype=float32")
        self.assertEqual(str(quern.Gather(dtype=bf16)), "gather dtype=bfloat16")

    def test_equality(self):
        self.assertEqual(quern.Gather(width=8), quern.Gather(width=8))
        self.assertNotEqual(quern.Gather(width=8), quern.Gather(width=9))
        self.assertEqual(len({quern.Gather(width=8), quern.Gather(width=8)}), 1)

    def test_every_family_has_a_class_and_a_function(self):
        for name, tables in quern.families().items():
            made = getattr(quern, "".join(word.capitalize() for word in name.split("_")))
            self.assertEqual(str(made()), name)
            self.assertTrue(issubclass(made, quern.Problem))
            self.assertIn(tables["sentence"], made.__doc__)
            self.assertIn(tables["sentence"], getattr(quern, name).__doc__)
            self.assertTrue(getattr(quern, name).__text_signature__.startswith("($module, /, "))
            self.assertIn(name, quern.__all__)

    def test_no_such_family(self):
        with self.assertRaises(AttributeError):
            quern.Nothing  # noqa: B018
        self.refused(TypeError, "gather has no field widht; it has count, dtype", quern.Gather, widht=8)

    def test_prepare(self):
        plan = quern.prepare(quern.Gather(width=4, dtype=np.float32))
        self.assertEqual(plan.problem, "gather width=4 dtype=f32")

    def test_problem_of(self):
        text = quern.problem_of("gather", {"source": ("bf16", (8, 64), (64, 1)), "index": ("i32", (3,), (1,))})
        self.assertEqual(text, "gather width=64 index=i32")


class Launching(Case):
    x, index, want = numbers(9, 4), np.array([8, 0, 3]), None

    def setUp(self):
        self.out = np.full((3, 4), np.nan, f32)
        self.want = self.x[self.index]

    def check(self, plan, *args, **words):
        self.assertIsNone(plan.launch(*args, **words))
        self.same(self.out, self.want)

    def test_positional(self):
        self.check(quern.prepare("gather width=4 dtype=f32"), self.x, self.index, self.out)

    def test_by_name(self):
        plan = quern.prepare("gather width=4 dtype=f32")
        self.check(plan, out=self.out, index=self.index, source=self.x)
        self.check(plan, self.x, out=self.out, index=self.index)

    def test_all_extents_given(self):
        self.check(quern.prepare("gather rows=9 count=3 width=4 dtype=f32"), self.x, self.index, self.out)

    def test_open_extents(self):
        plan = quern.prepare("gather width=4 dtype=f32")
        for count in (1, 2, 3, 0):
            self.out[:] = 7
            plan.launch(self.x, self.index[:count], self.out[:count])
            self.same(self.out[:count], self.want[:count])
            self.assertTrue((self.out[count:] == 7).all())

    def test_extent_by_keyword(self):
        self.check(quern.prepare("gather width=4 dtype=f32"), self.x, self.index, self.out, count=3, rows=9)
        plan = quern.prepare("gather width=4 dtype=f32")
        self.refused(quern.Error, "index has shape [3]", plan.launch, self.x, self.index, self.out, count=4)

    def test_extent_that_no_tensor_has(self):
        plan = quern.prepare("index_sort")
        index = np.array([1, 5, 0])
        order, ordered = np.empty(3, np.int32), np.empty(3, np.int32)
        workspace = np.zeros(262147 + 4 * 3, np.int32)
        plan.launch(index, order, ordered, workspace, rows=4)
        self.same(ordered, np.array([0, 1, 4], np.int32))
        plan.launch(index, order, ordered, workspace, rows=9)
        self.same(ordered, np.array([0, 1, 5], np.int32))
        self.refused(quern.Error, "rows", plan.launch, index, order, ordered, workspace)

    def test_number(self):
        plan = quern.prepare("pointwise width=4 activation=leaky_relu bias_spread=none dtype=f32")
        out = np.empty_like(self.x)
        for alpha in (0.5, 2, True):
            plan.launch(self.x, out, alpha=alpha)
            self.close(out, np.where(self.x > 0, self.x, alpha * self.x))
        plan.launch(self.x, out=out, alpha=f32(0.25))
        self.close(out, np.where(self.x > 0, self.x, 0.25 * self.x))

    def test_absent_is_none(self):
        empty = np.zeros((0, 4), f32)
        plan = quern.prepare("gather width=4 dtype=f32")
        plan.launch(empty, None, None, count=0)
        plan.launch(None, None, out=None, count=0, rows=0)

    def test_list(self):
        plan = quern.prepare("concat widths=4,2 dtype=f32")
        self.assertEqual([x["name"] for x in plan.operands], ["sources.0", "sources.1", "out"])
        a, b, out = numbers(3, 4), numbers(3, 2, seed=2), np.empty((3, 6), f32)
        plan.launch(a, b, out)
        self.same(out, np.concatenate([a, b], 1))
        out[:] = 0
        plan.launch(out=out, **{"sources.1": b, "sources.0": a})
        self.same(out, np.concatenate([a, b], 1))

    def test_many_tensors(self):
        parts, out = [numbers(2, 1, seed=i) for i in range(40)], np.empty((2, 40), f32)
        quern.prepare(quern.Concat(widths=[1] * 40, dtype="f32")).launch(*parts, out)
        self.same(out, np.concatenate(parts, 1))

    def test_stream_is_ignored_on_the_host(self):
        for stream in (None, 0, 12345):
            self.check(quern.prepare("gather width=4 dtype=f32"), self.x, self.index, self.out, stream=stream)

    def test_outlives_its_runtime(self):
        runtime = quern.Runtime(device="host")
        plan = runtime.prepare("gather width=4 dtype=f32")
        del runtime
        self.check(plan, self.x, self.index, self.out)


class Runtimes(Case):
    def test_statistics(self):
        runtime = quern.Runtime(device="host")
        self.assertEqual(runtime.statistics()["held.plans"], 0)
        runtime.prepare("gather width=4 dtype=f32")
        runtime.prepare("gather width=4 dtype=f32")
        self.assertEqual(runtime.statistics()["hits.plan"], 1)
        runtime.flush()
        runtime.trim()
        self.assertEqual(runtime.statistics()["held.plans"], 0)

    def test_of_a_function(self):
        runtime = quern.Runtime(device="host")
        x, index = numbers(9, 4), np.array([8, 0, 3])
        self.same(quern.gather(x, index, runtime=runtime), x[index])
        self.assertEqual(runtime.statistics()["held.plans"], 1)
        self.same(quern.gather(x, index, runtime=None), x[index])

    def test_config_of_a_function(self):
        x, index = numbers(9, 4), np.array([8, 0, 3])
        self.same(quern.gather(x, index, config="threads=64"), x[index])
        self.same(quern.gather(x, index, config=None), x[index])
        self.refused(quern.Error, "threads", quern.gather, x, index, config="threads=3")

    def test_options(self):
        self.refused(TypeError, "keywords only", quern.Runtime, "host")
        self.refused(quern.Error, "QUERN_DEVICE", quern.Runtime, device="toaster")
        self.refused(quern.Error, "QUERN_NOTHING", quern.Runtime, nothing=1)
        self.refused(quern.Error, "QUERN_DEVICE", quern.set_device, "toaster")
        self.same(quern.gather(numbers(2, 4), np.array([1])), numbers(2, 4)[1:])  # still on the host

    def test_prewarm(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            runtime = quern.Runtime(cache_dir=folder, device="host")
            self.assertGreater(runtime.prewarm("gather width=4 dtype=f32", "host"), 0)
            runtime.flush()
            later = quern.Runtime(cache_dir=folder, device="host")
            plan = later.prepare("gather width=4 dtype=f32")
            self.assertEqual({image["origin"] for image in plan.images}, {"disk"})
            self.assertEqual(later.statistics()["compiles.count"], 0)


if __name__ == "__main__":
    unittest.main()
