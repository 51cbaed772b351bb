"""Without NumPy a problem is prepared all the same."""
import importlib.util

import quern

assert importlib.util.find_spec("numpy") is None
quern.set_device("host")
plan = quern.prepare(quern.Gather(width=8))
assert str(plan.problem) == "gather width=8", plan.problem
