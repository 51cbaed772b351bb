"""Nothing is leaked: references, and memory."""
from support import *  # noqa: F403
import tracemalloc
import tensors

MEGABYTE = 1 << 20


class Leaks(Case):
    x, index, none = numbers(9, 4), np.array([8, 0, 3]), np.zeros(0, int)

    def traced(self, work, times):
        """The bytes that Python has more, of the best of some rounds: tables of its own grow now and then."""
        growth = []
        tracemalloc.start()
        try:
            for _ in range(5):
                gc.collect()
                before = tracemalloc.get_traced_memory()[0]
                for _ in range(times):
                    work()
                gc.collect()
                growth.append(tracemalloc.get_traced_memory()[0] - before)
        finally:
            tracemalloc.stop()
        return min(growth)

    def check(self, work, objects, times, slack=2, resident=4 * MEGABYTE):
        """Runs `work` again and again: no reference and no memory is left."""
        for _ in range(20):
            work()
        objects = (*objects, None, True)
        traced = self.traced(work, min(times, 200))
        with Growth(*objects) as growth:
            for _ in range(times):
                work()
        for name, count in zip([type(x).__name__ for x in objects], growth.counts):
            self.assertLessEqual(abs(count), slack if name not in ("NoneType", "bool") else 50, name)
        self.assertLess(traced, 3000)
        self.assertLess(growth.resident, resident)

    def test_launches_that_do_nothing(self):
        plan = quern.prepare("gather width=4 dtype=f32")
        out = np.zeros((0, 4), f32)
        self.check(lambda: plan.launch(self.x, self.none, out), (plan, self.x, self.none, out, quern), 100_000)

    def test_launches(self):
        plan = quern.prepare("gather width=4 dtype=f32")
        out = np.zeros((3, 4), f32)
        self.check(lambda: plan.launch(self.x, self.index, out=out, count=3), (plan, self.x, self.index, out), 5_000)

    def test_calls_that_do_nothing(self):
        self.check(lambda: quern.gather(self.x, self.none), (self.x, self.none, quern.gather), 10_000)

    def test_calls(self):
        mode = "".join(["ze", "ro"])
        self.check(lambda: quern.gather(self.x, self.index, mode=mode), (self.x, self.index, mode), 3_000)

    def test_given_results(self):
        out = np.zeros((0, 4), f32)
        self.check(lambda: quern.gather(self.x, self.none, out=out), (self.x, self.none, out), 10_000)

    def test_lists(self):
        parts = [self.x[:0], self.x[:0]]
        self.check(lambda: quern.concat(parts), (parts, *parts), 5_000)

    def test_tuples_of_results_and_workspaces(self):
        self.check(lambda: quern.index_sort(self.index, rows=9), (self.index,), 300)

    def test_own_tensors(self):
        x, index, none = (tensors.Tensor(a.ctypes.data, code, bits, a.shape, None, a)
                          for a, code, bits in ((self.x, 2, 32), (self.index, 0, 64), (self.none, 0, 64)))
        tensors.take_counts()
        self.check(lambda: quern.gather(x, none), (x, none, tensors.Tensor), 10_000)
        self.check(lambda: quern.gather(x, index), (x, index, tensors.Tensor), 1_000)
        counts = tensors.take_counts()
        self.assertEqual(counts["allocate"], counts["freed"])

    def test_memory_of_plans(self):
        def work():
            runtime = quern.Runtime(device="host", log="error")
            runtime.prepare("gather width=4 dtype=f32")
        self.check(work, (quern.Plan, quern.Runtime), 400, resident=12 * MEGABYTE)

    def test_prepare(self):
        problem = quern.Gather(width=4, dtype="f32")
        self.check(lambda: quern.prepare(problem), (problem, quern.Plan), 2_000)

    def test_runtimes(self):
        def work():
            quern.Runtime(device="host", on_log=print, log="error").statistics()
        self.check(work, (print, quern.Runtime), 200)

    def test_descriptions(self):
        plan = quern.prepare("gather width=4 dtype=f32")

        def work():
            plan.operands, plan.images, plan.why, plan.problem, plan.family, repr(plan)
            quern.places("gather")
            quern.problem_of("gather", {"source": ("bf16", (8, 64), (64, 1)), "index": ("i32", (3,), (1,))})
        self.check(work, (plan,), 500)
        self.check(quern.families, (quern,), 50)

    def test_many_settings(self):
        words = [f"threads={64 << (i % 3)} unroll={1 << (i // 3 % 4)}" for i in range(12)]
        self.check(lambda: [quern.gather(self.x, self.none, config=word) for word in words], (self.x, *words), 300)

    def test_a_function_keeps_few_plans(self):
        """256, and with them their runtimes."""
        import weakref

        class Log:
            def __call__(self, level, line):
                pass
        logs = []
        for _ in range(280):
            log = Log()
            quern.scatter(self.x, np.arange(9), rows=9, runtime=quern.Runtime(device="host", log="error", on_log=log))
            logs.append(weakref.ref(log))
        del log
        gc.collect()
        alive = [log() is not None for log in logs]
        self.assertLessEqual(sum(alive), 256)
        self.assertEqual(alive, sorted(alive))  # those used last


class LeaksOfErrors(Leaks):
    """The same of a thousand refused calls."""

    def refuse(self, objects, function, *args, **words):
        def work():
            try:
                function(*args, **words)
            except (quern.Error, TypeError, ValueError, LookupError, OverflowError, BufferError):
                return
            self.fail("not refused")
        self.check(work, objects, 1_000)

    def test_of_launches(self):
        plan, out = quern.prepare("gather width=4 dtype=f32"), np.zeros((3, 4), f32)
        read_only = out.copy()
        read_only.flags.writeable = False
        every = (plan, self.x, self.index, out, read_only)
        self.refuse(every, plan.launch, self.x, self.x, out)
        self.refuse(every, plan.launch, self.x, self.index, read_only)
        self.refuse(every, plan.launch, self.x, self.index, out, out)
        self.refuse(every, plan.launch, self.x, self.index, out, nothing=1)
        self.refuse(every, plan.launch, self.x, self.index, out, count="a")
        self.refuse(every, plan.launch, self.x, [1], out)

    def test_of_functions(self):
        big_endian, one = self.x.astype(">f4"), [1]
        every = (self.x, self.index, big_endian, one)
        self.refuse(every, quern.gather, self.x, self.x)
        self.refuse(every, quern.gather, big_endian, self.index)
        self.refuse(every, quern.gather, self.x, one)
        self.refuse(every, quern.gather, self.x, self.index, nothing=one)
        self.refuse(every, quern.gather, self.x, self.index, mode="bad")
        self.refuse(every, quern.gather, self.x, self.index, runtime=one)
        self.refuse(every, quern.gather, self.x, self.index, self.x, self.x)
        self.refuse(every, quern.concat, [self.x, one])
        self.refuse(every, quern.gather, self.x, self.index, report=self.index)

    def test_memory_of_errors(self):
        """Those of the library are not Python's to count."""
        plan, out = quern.prepare("gather width=4 dtype=f32"), np.zeros((3, 4), f32)

        def work():
            try:
                plan.launch(self.x, self.x, out)
            except quern.Error:
                return
            self.fail("not refused")
        self.check(work, (plan, out), 20_000)

    def test_of_prepare(self):
        config = "threads=7"
        self.refuse((config,), quern.prepare, "gather width=4", config)
        self.refuse((), quern.prepare, "nothing")
        self.refuse((), quern.Runtime, device="toaster")

    def test_of_own_tensors(self):
        x = tensors.Tensor(self.x.ctypes.data, 2, 32, self.x.shape, None, self.x)
        index = tensors.Tensor(self.index.ctypes.data, 0, 64, self.index.shape, None, self.index)
        try:
            for function in ("view", "allocate", "to_object"):
                tensors.set(function, 0, 0, 1)
                with self.subTest(function=function):
                    def work():
                        try:
                            quern.gather(x, index)
                        except Exception:  # noqa: BLE001
                            return
                        self.fail("not refused")
                    self.check(work, (x, index), 1_000)
        finally:
            tensors.set("", 0, 0, 1)


# Those of the base class ran there.
for name in [n for n in dir(Leaks) if n.startswith("test_") and n not in LeaksOfErrors.__dict__]:
    setattr(LeaksOfErrors, name, None)

if __name__ == "__main__":
    unittest.main()
