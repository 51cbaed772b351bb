"""Measurements as columns: sweeps, records and bench, with pandas and without."""
from support import *  # noqa: F403
import csv
import gzip
import importlib.machinery
import importlib.util
import io
import pathlib
import shutil
import tempfile
import types
from unittest import mock

from quern import _data

SWEEP = pathlib.Path(__file__).parents[1] / "spaces" / "made_up.jsonl.gz"
find_spec = importlib.util.find_spec


def without_pandas():
    return mock.patch("importlib.util.find_spec", lambda name, *a: None if name == "pandas" else find_spec(name, *a))


class Data(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "made_up.jsonl")
        with gzip.open(SWEEP) as packed, open(self.path, "wb") as file:
            shutil.copyfileobj(packed, file)
        self.empty = os.path.join(folder.name, "empty.jsonl")
        with open(self.path) as file, open(self.empty, "w") as empty:
            empty.write(file.readline())
        patch = without_pandas()
        patch.start()
        self.addCleanup(patch.stop)

    def test_sweep(self):
        columns = quern.sweep(self.path)
        text = subprocess.run([_data.program(), "tune", "report", self.path, "--csv"], capture_output=True, text=True).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(list(columns), list(rows[0]))
        self.assertEqual({len(c) for c in columns.values()}, {len(rows)})
        np.testing.assert_array_equal(columns["us"], [float(r["us"] or "nan") for r in rows])
        self.assertEqual(columns["us"].dtype, f64)
        self.same(columns["threads"], np.array([int(r["threads"]) for r in rows]))
        self.assertEqual(set(columns["problem"]), {"made_up"})
        self.assertEqual(set(columns["target"]), {None})  # an empty cell

    def test_a_sweep_without_measurements_has_its_columns(self):
        full, empty = quern.sweep(self.path), quern.sweep(self.empty)
        self.assertEqual(list(empty), list(full))
        self.assertEqual({len(c) for c in empty.values()}, {0})

    def test_a_file_that_is_no_sweep(self):
        with self.assertRaisesRegex(RuntimeError, "not the header of a sweep"):
            quern.sweep(__file__)

    def test_records(self):
        columns = quern.records("gather")
        self.assertGreater(len(columns["us"]), 0)
        self.assertEqual(columns["us"].dtype.kind, "f")
        self.assertTrue(all(problem.startswith("gather ") for problem in columns["problem"]))

    def test_no_records_have_their_columns(self):
        columns = quern.records("gather", "dtype=e5m2")
        self.assertLessEqual(set(quern.records("gather")), set(columns))
        self.assertEqual({len(c) for c in columns.values()}, {0})

    def test_bench(self):
        columns = quern.bench("gather rows=64 count=64 width=64", device="host")
        self.assertEqual(len(columns["problem"]), 1)
        self.assertIn("rows=64", columns["problem"][0])
        self.assertEqual(columns["verified"].tolist(), [True])

    def test_what_rows_lack(self):
        columns = _data.table([{"a": 1, "b": {"c": "x"}}, {"a": None, "d": True}])
        self.assertEqual(list(columns), ["a", "b.c", "d"])
        np.testing.assert_array_equal(columns["a"], [1, np.nan])
        self.assertEqual(columns["b.c"].tolist(), ["x", None])
        self.assertEqual(columns["d"].tolist(), [None, True])

    def test_with_pandas(self):
        """A module in its place, which keeps what it is given."""
        pandas = types.ModuleType("pandas")
        pandas.__spec__ = importlib.machinery.ModuleSpec("pandas", None)
        pandas.DataFrame = lambda columns: ("frame", columns)
        with mock.patch.dict(sys.modules, pandas=pandas), mock.patch("importlib.util.find_spec", find_spec):
            kind, columns = quern.sweep(self.path)
            _, empty = quern.sweep(self.empty)
        self.assertEqual((kind, len(columns["us"])), ("frame", 1380))
        self.assertEqual(list(empty), list(columns))


if __name__ == "__main__":
    unittest.main()
