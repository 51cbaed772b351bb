"""Reads what `nm -D --undefined-only` says of a module: Python's names must be in the limited interface of 3.10."""
import sys

import abi3info
from abi3info.models import PyVersion, Symbol

wrong = []
count = 0
for line in sys.stdin:
    name = line.split()[-1].split("@")[0]
    if not name.startswith(("Py", "_Py")):
        continue
    count += 1
    known = abi3info.FUNCTIONS.get(Symbol(name)) or abi3info.DATAS.get(Symbol(name))
    if known is None or known.added > PyVersion(3, 10):
        wrong.append(name)
print(f"{count} names of Python;", "not in its limited interface:", " ".join(wrong) or "none")
sys.exit(bool(wrong) or count == 0)
