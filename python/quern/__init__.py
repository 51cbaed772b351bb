"""GPU kernels that are compiled at run time for the exact problem: shape, dtype, activation, scaling mode.

    import quern, torch

    y = quern.gather(x, index)                    # a function for each family; it makes its result
    plan = quern.prepare("gather width=7168")     # or a plan, which launches into given tensors
    plan.launch(x, index, y)

Tensors are those of any package with DLPack, such as PyTorch and CuPy. NumPy's run on the CPU, for tests, after
quern.set_device("host"). quern.families() has the tables of all families; help(quern.gather) reads one.
"""
from quern import _quern
from quern._problem import Problem, problem_class
from quern._quern import *  # noqa: F403: a function for each family, Runtime, Plan, Error, prepare, …
from quern._quern import __version__

__all__ = [name for name in dir(_quern) if not name.startswith("_") and name != "setting_text"]
__all__ += ["Problem", "__version__", "bench", "fuse", "records", "sweep"]


def __getattr__(name):
    """What costs an import, made when it is first asked for: quern.Gather, the problem class of a family; quern.bench."""
    if name in ("bench", "records", "sweep"):
        from quern import _data

        made = getattr(_data, name)
    elif name == "fuse":
        from quern._fuse import fuse as made
    else:
        made = problem_class(name)
    if made is None:
        raise AttributeError(f"module 'quern' has no attribute {name!r}")
    globals()[name] = made
    return made
