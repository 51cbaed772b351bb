"""Runs the tests of quern.torch and the examples on the host driver: all files, or those named: run.py test_bugs

Prints lines as tests/python/run.py does, and exits 1 when a test failed. Without PyTorch it says so and exits 77. On a GPU
the files are run one by one, without QUERN_DEVICE: test_cuda.py has what only a GPU has.
"""
import faulthandler
import importlib.util
import os
import pathlib
import sys
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve().parent
OLDEST = (2, 10)


def lines():
    """tests/python/run.py's result, without its folder in the path, which has a `support` too."""
    spec = importlib.util.spec_from_file_location("lines", HERE.parent / "python" / "run.py")
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module.Lines()


def has_torch():
    try:
        import torch
    except ImportError:
        print("skipped: PyTorch is not installed")
        return False
    if tuple(int(n) for n in torch.__version__.split(".")[:2]) < OLDEST:
        print(f"skipped: PyTorch {torch.__version__} is older than 2.10")
        return False
    return True


def main():
    os.environ["QUERN_DEVICE"] = "host"
    warnings.simplefilter("ignore")
    if not has_torch():
        return 77
    faulthandler.enable()
    faulthandler.dump_traceback_later(540, exit=True)  # before CTest's limit: where it hangs
    sys.path.insert(0, str(HERE))
    names = sys.argv[1:] or sorted(f.stem for f in HERE.glob("test_*.py") if f.stem != "test_cuda")
    result = lines()
    unittest.TestLoader().loadTestsFromNames(names).run(result)
    if result.testsRun == 0:
        print("not ok: no tests")
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
