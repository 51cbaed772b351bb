"""Holds the pages of this repository to what is so: every command runs, every listing is what is printed, every example
compiles, every option, file, variable and link is there. Usage: check_pages.py [--gpu] QUERN_BINARY INCLUDE_FOLDERS
With --gpu only what needs one. Prints "ok WHAT" or "not ok WHAT"; exits 1 when one failed.
"""
import pathlib
import re
import sys
import time

import names
import runs
from pages import read_pages
from usage import Usage

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Report:
    def __init__(self):
        self.failed = 0
        self._since = time.monotonic()

    def say(self, what, faults):
        """`faults`: lines; none if all is well."""
        now = time.monotonic()
        took, self._since = now - self._since, now
        print(f'{"not ok" if faults else "ok"} {what}{f" [{took:.0f} s]" if took > 3 else ""}', flush=True)
        for fault in faults:
            print('    ' + str(fault))
        self.failed += bool(faults)


def main():
    arguments = sys.argv[1:]
    gpu = '--gpu' in arguments
    arguments = [argument for argument in arguments if argument != '--gpu']
    if len(arguments) != 2:
        sys.exit(__doc__)
    quern = pathlib.Path(arguments[0]).resolve()
    usage, pages, report = Usage(str(quern)), read_pages(ROOT), Report()
    if not gpu:
        for page in pages:
            report.say(f'{page.name}: names and links', names.faults(ROOT, page, usage))
    with runs.Scratch(ROOT, quern) as scratch:
        runs.check_commands(scratch, pages, usage, report, gpu)
        runs.check_examples(scratch, pages, re.split('[;:]', arguments[1]), report, gpu)
    sys.exit(1 if report.failed else 0)


main()
