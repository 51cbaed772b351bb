#!/usr/bin/env python3
"""Test suites of other projects, unmodified, with quern's kernels under them: a Markdown table of what passed.

usage: run.py FOLDER [SUITE…] [--break FUNCTION] [-k EXPRESSION]
  FOLDER    what fetch.sh made
  SUITE     liger, flash-attention or xformers; default: all
  --break   moves the results of a function of quern by one element, runs the suites that use it, and expects failures;
            tests that compare quern with itself cannot notice
  -k        only the tests that pytest picks by it

Needs quern, PyTorch with a GPU, pytest, einops and transformers. Exit status 1: a test failed that is not in KNOWN, or with
--break no test that ran the broken function did.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass
class Suite:
    title: str
    functions: tuple  # of quern, that its tests run
    tests: tuple
    ours: str  # the folder beside this file
    paths: tuple  # of the fetched folder, for imports
    plugins: tuple = ()


SUITES = {
    "liger": Suite(
        title="Liger-Kernel: rope, swiglu, geglu, embedding",
        functions=("rope", "glu", "embedding"),
        tests=tuple(f"test/transformers/test_{name}.py" for name in ("rope", "swiglu", "geglu", "embedding")),
        ours="liger",
        paths=(".", "src"),
        plugins=("outside_setup",),
    ),
    "flash-attention": Suite(
        title="flash-attention: rotary",
        functions=("rope",),
        tests=("tests/test_rotary.py",),
        ours="flash_attention",
        paths=(".",),
    ),
    "xformers": Suite(
        title="xformers: indexing",
        functions=("scatter", "concat"),
        tests=("tests/test_indexing.py",),
        ours="xformers",
        paths=(),
    ),
}

# Tests that fail for a reason that no kernel can change: the end of the name, and the reason.
KNOWN = {
    "test_rotary::test_compilation_count": "counts what Triton compiles",
}


@dataclass
class Test:
    name: str
    outcome: str  # passed, failed or skipped
    reason: str
    ran: set = field(default_factory=set)  # functions of quern

    @property
    def known(self):
        return next((reason for end, reason in KNOWN.items() if self.name.endswith(end)), None)


def _read(case):
    name = f"{case.get('classname', '').split('.')[-1]}::{case.get('name')}"
    ran = {word for p in case.iter("property") if p.get("name") == "quern" for word in p.get("value").split()}
    for outcome, tags in (("failed", ("failure", "error")), ("skipped", ("skipped",))):
        for tag in tags:
            found = case.find(tag)
            if found is not None:
                return Test(name, outcome, " ".join((found.get("message") or "").split())[:160], ran)
    return Test(name, "passed", "", ran)


def run(suite, folder, broken, expression):
    """The tests of a suite, as pytest reports them."""
    paths = [HERE / suite.ours, HERE / "watch", *[folder / path for path in suite.paths]]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([*map(str, paths), os.environ.get("PYTHONPATH", "")]))
    if broken is not None:
        environment["QUERN_OUTSIDE_BREAK"] = broken
    with tempfile.TemporaryDirectory() as work:
        report = Path(work, "report.xml")
        words = [sys.executable, "-m", "pytest", "-q", "--tb=short", "--no-header"]
        for plugin in ("no:cacheprovider", "outside_watch", *suite.plugins):
            words += ["-p", plugin]
        # The project's own settings of pytest ask for plug-ins that no test here needs.
        words += ["-c", os.devnull, "--rootdir", str(folder), f"--junitxml={report}", "-o", "junit_family=xunit2"]
        if expression is not None:
            words += ["-k", expression]
        subprocess.run([*words, *suite.tests], cwd=folder, env=environment, stdout=sys.stderr)
        if not report.exists():
            return [Test(f"{suite.title}: pytest", "failed", "ended without a report")]
        return [_read(case) for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase")]


def count(tests, outcome):
    return sum(test.outcome == outcome for test in tests)


def table(results, folder):
    print("| suite | commit | tests | passed | failed | skipped | passed with quern's kernels |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, tests in results.items():
        commit = (folder / name / "COMMIT").read_text().strip()[:8]
        counts = " | ".join(str(count(tests, outcome)) for outcome in ("passed", "failed", "skipped"))
        used = sum(test.outcome == "passed" and bool(test.ran) for test in tests)
        print(f"| {SUITES[name].title} | {commit} | {len(tests)} | {counts} | {used} |")


def noticed(tests, broken):
    return any(test.outcome == "failed" and broken in test.ran for test in tests)


def broken_table(results, broken):
    print(f"| suite, with `{broken}` broken | tests that ran it | of them failed |")
    print("|---|---:|---:|")
    for name, tests in results.items():
        ran = [test for test in tests if broken in test.ran]
        print(f"| {SUITES[name].title} | {len(ran)} | {count(ran, 'failed')} |")


def misses(tests):
    for test in tests:
        if test.outcome != "passed":
            print(f"- {test.outcome}: {test.name}: {test.known or test.reason}")


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\nNeeds")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--break", dest="broken", choices=sorted({f for suite in SUITES.values() for f in suite.functions}))
    parser.add_argument("-k", dest="expression")
    given = parser.parse_args()
    for name in given.suites:
        if name not in SUITES:
            parser.error(f"no suite {name}; there are {', '.join(SUITES)}")
    for name in given.suites or SUITES:
        if not (given.folder / name / "COMMIT").exists():
            parser.error(f"{given.folder / name} is not there or not complete: fetch.sh makes it")
    return given


def main():
    given = arguments()
    folder = given.folder.resolve()
    names = [n for n in given.suites or SUITES if given.broken is None or given.broken in SUITES[n].functions]
    results = {name: run(SUITES[name], folder / name, given.broken, given.expression) for name in names}
    if given.broken is not None:
        broken_table(results, given.broken)
        return 0 if all(noticed(tests, given.broken) for tests in results.values()) else 1
    table(results, folder)
    for tests in results.values():
        misses(tests)
    failed = [test for tests in results.values() for test in tests if test.outcome == "failed"]
    return 1 if any(test.known is None for test in failed) else 0


if __name__ == "__main__":
    sys.exit(main())
