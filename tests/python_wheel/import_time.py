"""What `import quern` adds to the start of Python: the medians of 9 starts."""
import statistics
import subprocess
import sys
import time


def seconds(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


pairs = [(seconds("pass"), seconds("import quern")) for _ in range(9)]
bare, imported = (statistics.median(times) * 1000 for times in zip(*pairs))
print(f"python {bare:.1f} ms, with quern {imported:.1f} ms")
sys.exit(imported - bare >= 30)
