"""Runs the tests of the Python package: all of them, or those named: run.py plans_test refusals_test.RefusalsTest

Prints a line "ok NAME" or "not ok NAME" for each, which tools/count.sh counts, and exits 1 when one failed.
"""
import faulthandler
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class Lines(unittest.TestResult):
    """A line for each test."""

    def startTest(self, test):
        super().startTest(test)
        self.begin = time.monotonic()
        self.problems = []

    def stopTest(self, test):
        word = "not ok" if self.problems else "ok"
        for text in self.problems:
            print(text, file=sys.stderr, flush=True)
        print(f"{word} {test.id()} ({time.monotonic() - self.begin:.2f} s)", flush=True)
        super().stopTest(test)

    def note(self, test, error):
        self.problems.append(self._exc_info_to_string(error, test))

    def addError(self, test, error):
        super().addError(test, error)
        if not hasattr(self, "problems") or isinstance(test, unittest.suite._ErrorHolder):
            print(f"{self._exc_info_to_string(error, test)}\nnot ok {test}", flush=True)  # a set-up
        else:
            self.note(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.problems.append(f"{subtest}\n")
            self.note(test, error)


def main():
    faulthandler.enable()
    faulthandler.dump_traceback_later(540, exit=True)  # before CTest's limit: where it hangs
    here = os.path.dirname(os.path.abspath(__file__))
    loader = unittest.TestLoader()
    names = sys.argv[1:]
    tests = loader.loadTestsFromNames(names) if names else loader.discover(here, pattern="*_test.py")
    result = Lines()
    tests.run(result)
    if result.testsRun == 0:
        print("not ok: no tests")
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
