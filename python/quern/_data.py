"""Measurements as columns, from the command `quern` that comes with the package."""
import csv
import importlib.util
import io
import json
import os
import shutil
import subprocess


def program():
    """The command: the package's, else one in PATH. Raises FileNotFoundError."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "quern")
    found = own if os.path.exists(own) else shutil.which("quern")
    if found is None:
        raise FileNotFoundError("the command `quern` is neither in the package nor in PATH")
    return found


def _run(*words):
    done = subprocess.run([program(), *map(str, words)], capture_output=True, text=True)
    if done.returncode not in (0, 3):  # 3: some items failed, which their rows say
        raise RuntimeError(done.stderr.strip() or f"quern {words[0]} ended with {done.returncode}")
    return done.stdout


def _flat(row, prefix=""):
    """Members of objects within a row get names with dots, as docs/json.md writes them."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _number(text):
    """What a cell of a CSV file says."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None if text == "" else text


def table(rows, names=()):
    """Rows, dicts with the same or different names, as columns: a pandas.DataFrame where pandas is installed, else a
    dict of NumPy arrays. What a row lacks is None, or NaN in a column of numbers.
    names: of columns that are there without rows too."""
    rows = [dict(_flat(row)) for row in rows]
    names = list(dict.fromkeys([*names, *(name for row in rows for name in row)]))
    columns = {name: [row.get(name) for row in rows] for name in names}
    if importlib.util.find_spec("pandas") is not None:
        import pandas

        return pandas.DataFrame(columns)
    import numpy

    return {name: _array(numpy, values) for name, values in columns.items()}


def _array(numpy, values):
    numbers = [v for v in values if v is not None]
    if numbers and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in numbers):
        if len(numbers) == len(values):
            return numpy.array(values)
        return numpy.array([numpy.nan if v is None else v for v in values], dtype=float)
    return numpy.array(values, dtype=object) if len(numbers) < len(values) else numpy.array(values)


def sweep(path):
    """Every measurement of a sweep, a file that `quern tune` wrote, as columns: config by config, times in us."""
    text = _run("tune", "report", path, "--csv")
    reader = csv.DictReader(io.StringIO(text))
    return table([{k: _number(v) for k, v in row.items()} for row in reader], reader.fieldnames)


def records(*words, path=None):
    """The tuning records that prepare would find, as columns. words: only those of a family and fields, as in
    records("gather", "dtype=bf16"). path: of that file alone."""
    options = [] if path is None else ["--records", path]
    found = _lines(_run("tune", "show", *words, *options, "--json"))
    if found:
        return table(found)
    others = _lines(_run("tune", "show", "--json"))  # which columns there are, the records that ship say
    return table([], dict.fromkeys(name for row in others for name, _ in _flat(row)))


def bench(*problems, device=None, config=None):
    """Times of problems (or of all that a family's benchmark has) beside a copy of the same bytes, as columns.

    problems: "gather rows=4096 count=4096", or a family's name. device: "cuda:0", or "host" for a functional run.
    """
    words = []
    for problem in map(str, problems):
        words += ["--problem", problem] if " " in problem else [problem]
    for name, value in (("--device", device), ("--config", config)):
        words += [] if value is None else [name, value]
    return table(_lines(_run("bench", *words, "--json")))


def _lines(text):
    return [json.loads(line) for line in text.splitlines()]
