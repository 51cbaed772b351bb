"""Instructions that a call costs, counted by valgrind: run.py NULL_LIBCUDA. A gate: times of a shared machine are noise.

Each way is run with two counts of calls; the difference, less that of an empty Python function, is quern's part with the
library's own launch in it, and a driver that returns at once. Prints "ok WAY: N instructions" or "not ok ...".
"""
import os
import re
import subprocess
import sys

# Measured 3320, 10326 and 10324 on 2026-11-28 with gcc 12 -O1 and CPython 3.11; the limits have some room.
LIMITS = {"plan.launch": 3500, "function, out given": 11000, "function, out made": 10900}
FEW, MANY = 500, 10500


def instructions(way, count):
    loop = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loop.py")
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, loop, way, str(count)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise RuntimeError(done.stderr)
    return int(found.group(1))


def cost(way):
    return (instructions(way, MANY) - instructions(way, FEW)) / (MANY - FEW)


def main():
    os.environ["QUERN_LIBCUDA"] = sys.argv[1]
    os.environ["PYTHONHASHSEED"] = "0"
    # Compiled and stored, so that the counted runs do the same.
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "loop.py"), "nothing", "1"], check=True)
    nothing, failed = cost("nothing"), 0
    for way, limit in LIMITS.items():
        counted = cost(way) - nothing
        word = "ok" if counted <= limit else "not ok"
        failed += counted > limit
        print(f"{word} {way}: {counted:.0f} instructions, at most {limit}", flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
