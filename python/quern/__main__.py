"""The command `quern`, which comes with the package: python -m quern doctor."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "quern")
    os.execv(program, [program] + sys.argv[1:])


if __name__ == "__main__":
    main()
