"""Many threads at once, and a log that is a Python function."""
from support import *  # noqa: F403
import threading

THREADS = 8


def in_threads(work, count=THREADS):
    """Runs work(i) in threads that begin together; raises what one raised, or if one does not end."""
    barrier, errors = threading.Barrier(count), []

    def run(i):
        try:
            barrier.wait(30)
            work(i)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)
    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        if thread.is_alive():
            raise TimeoutError("a thread does not end")
    if errors:
        raise errors[0]


class Threads(Case):
    def test_one_function(self):
        """Also the first calls, which make the plan."""
        def work(seed):
            x = numbers(50, 20, seed=seed)
            for turn in range(30):
                index = np.random.default_rng(turn).integers(0, 50, 10 + turn)
                self.same(quern.gather(x, index), x[index])
        in_threads(work)

    def test_different_problems(self):
        def work(i):
            for turn in range(10):
                width = 21 + (i + turn) % 5
                x, index = numbers(5, width, seed=i), np.array([4, 0, i % 5])
                self.same(quern.gather(x, index), x[index])
                self.same(quern.concat([x, x]), np.concatenate([x, x], 1))
        in_threads(work)

    def test_one_plan(self):
        plan = quern.prepare("gather width=4 dtype=f32")

        def work(seed):
            x, out = numbers(50, 4, seed=seed), np.empty((20, 4), f32)
            for turn in range(50):
                index = np.random.default_rng(turn).integers(0, 50, 20)
                plan.launch(x, index, out)
                self.same(out, x[index])
        in_threads(work)

    def test_workspaces(self):
        """Each launch has its own."""
        def work(seed):
            for turn in range(10):
                index = np.random.default_rng(100 * seed + turn).integers(0, 9, 200)
                order, _ = quern.index_sort(index, rows=9)
                self.same(order, np.argsort(index, kind="stable").astype(np.int32))
        in_threads(work)

    def test_prepare_and_drop(self):
        def work(i):
            for turn in range(20):
                runtime = quern.Runtime(device="host") if turn % 5 == 0 else quern
                plan = runtime.prepare("gather width=4 dtype=f32")
                out = np.empty((1, 4), f32)
                plan.launch(numbers(3, 4, seed=i), np.array([1]), out)
                self.same(out, numbers(3, 4, seed=i)[1:2])
                runtime.statistics()
        in_threads(work)

    def test_set_device_meanwhile(self):
        def work(i):
            for _ in range(20):
                if i == 0:
                    quern.set_device("host")
                else:
                    x, index = numbers(5, 4, seed=i), np.array([4, 0])
                    self.same(quern.gather(x, index), x[index])
                    quern.flush()
                    quern.statistics()
        in_threads(work)

    def test_errors(self):
        x = numbers(5, 4)

        def work(i):
            for _ in range(50):
                error = self.refused(quern.Error, "index is of f32", quern.gather, x, x[0])
                self.assertEqual(error.code, "bad_input")
        in_threads(work)

    def test_others_run_during_a_launch(self):
        """The interpreter lock is free while kernels run."""
        x, index = numbers(5000, 512), np.arange(5000)
        out = np.empty_like(x)
        plan = quern.prepare("gather width=512 dtype=f32")
        plan.launch(x, index, out)
        ended, turns, most = threading.Event(), [], 0

        def count():
            while not ended.wait(0.0005):
                turns.append(None)
        thread = threading.Thread(target=count)
        thread.start()
        for _ in range(8):
            before = len(turns)
            plan.launch(x, index, out)
            most = max(most, len(turns) - before)
        ended.set()
        thread.join()
        self.assertGreater(most, 4)  # with the lock it has a turn or two, before and after


class Logs(Case):
    def test_lines(self):
        import tempfile
        lines = []
        with tempfile.TemporaryDirectory() as folder:
            runtime = quern.Runtime(device="host", log="info", cache_dir=folder,
                                    on_log=lambda level, line: lines.append((level, line)))
            runtime.prepare("gather width=4 dtype=f32")
            runtime.flush()
        self.assertTrue(lines)
        self.assertTrue(all(level in ("debug", "info", "warning", "error") for level, _ in lines))
        self.assertTrue(any("gather" in line for _, line in lines))

    def test_from_many_threads(self):
        import tempfile
        lines = []
        with tempfile.TemporaryDirectory() as folder:
            runtime = quern.Runtime(device="host", log="debug", cache_dir=folder,
                                    on_log=lambda level, line: lines.append(threading.get_ident()))

            def work(i):
                for turn in range(3):
                    x, index = numbers(5, 30 + (i + turn) % 4, seed=i), np.array([4, 0])
                    self.same(quern.gather(x, index, runtime=runtime), x[index])
                runtime.flush()
            in_threads(work)
            del runtime
        self.assertTrue(lines)

    def test_that_raises(self):
        """Is said on stderr, as an exception that nobody catches."""
        seen = []

        def log(level, line):
            raise RuntimeError("no log today")
        hook, sys.unraisablehook = sys.unraisablehook, lambda what: seen.append(str(what.exc_value))
        try:
            import tempfile
            with tempfile.TemporaryDirectory() as folder:
                runtime = quern.Runtime(device="host", log="info", cache_dir=folder, on_log=log)
                plan = runtime.prepare("gather width=4 dtype=f32")
                runtime.flush()
                out = np.empty((1, 4), f32)
                plan.launch(numbers(3, 4), np.array([1]), out)
                self.same(out, numbers(3, 4)[1:2])
        finally:
            sys.unraisablehook = hook
        self.assertEqual(set(seen), {"no log today"})

    def test_during_an_exception(self):
        """A line that is logged while an error is raised leaves the error."""
        runtime = quern.Runtime(device="host", log="debug", on_log=lambda level, line: None)
        error = self.refused(quern.Error, "no family", runtime.prepare, "nothing")
        self.assertEqual(error.code, "bad_input")

    def test_is_dropped_with_the_runtime(self):
        import weakref

        class Log:
            def __call__(self, level, line):
                pass
        log = Log()
        seen = weakref.ref(log)
        runtime = quern.Runtime(device="host", log="info", on_log=log)
        plan = runtime.prepare("gather width=4 dtype=f32")
        del log, runtime
        self.assertIsNotNone(seen())  # the plan has the runtime
        del plan
        gc.collect()
        self.assertIsNone(seen())

    def test_no_log(self):
        quern.Runtime(device="host", on_log=None).prepare("gather width=4 dtype=f32")
        with self.assertRaises(TypeError):
            quern.Runtime(device="host", on_log=3)


if __name__ == "__main__":
    unittest.main()
