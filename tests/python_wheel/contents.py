"""contents.py WHEEL VERSION FOLDER: the wheel's name, size and files; FOLDER has the package's Python."""
import pathlib
import re
import sys
import zipfile

LARGEST = 5_000_000  # of the test's wheel, 4.8 MB without optimization; with -O3, as it is published, 4.4 MB
wheel, version, folder = sys.argv[1:]
wheel = pathlib.Path(wheel)
wrong = []

name = rf"quern-{re.escape(version)}-cp310-abi3-manylinux_2_(\d+)_x86_64\.whl"
if re.fullmatch(name, wheel.name) is None:
    wrong.append(f"its name is {wheel.name}, not {name}")

size = wheel.stat().st_size
if size >= LARGEST:
    wrong.append(f"it has {size} bytes; the most is {LARGEST}")

soname = ".".join(version.split(".")[:2])
expected = {f"quern-{version}.dist-info/{file}" for file in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
expected |= {f"quern/{file}" for file in ("_quern.abi3.so", f"libquern.so.{soname}", "libquern_hostdriver.so", "bin/quern", "__init__.pyi")}
for file in pathlib.Path(folder).rglob("*"):
    if file.suffix in (".py", ".pyi", ".typed"):
        expected.add(f"quern/{file.relative_to(folder)}")

entries = zipfile.ZipFile(wheel).infolist()
found = {entry.filename for entry in entries}
wrong += [f"it lacks {file}" for file in sorted(expected - found)]
wrong += [f"it should not hold {file}" for file in sorted(found - expected)]

for entry in sorted(entries, key=lambda entry: -entry.compress_size):
    print(f"{entry.compress_size:9} {entry.file_size:9} {entry.filename}")
print("\n".join(wrong))
sys.exit(bool(wrong))
