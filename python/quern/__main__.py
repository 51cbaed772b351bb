"""The command `quern`, which comes with the package: python -m quern doctor."""
import os
import sys

from quern._data import program


def main():
    try:
        path = program()
    except FileNotFoundError as error:
        sys.exit(f"quern: {error}")
    os.environ.setdefault("VIRTUAL_ENV", sys.prefix)  # where pip puts NVRTC
    os.execv(path, [path] + sys.argv[1:])


if __name__ == "__main__":
    main()
