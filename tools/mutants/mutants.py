#!/usr/bin/env python3
"""Reads the list of mutants, tools/mutants/*.txt, for tools/mutate.sh and tools/check/mutants.sh.

  mutants.py check             every mutant still applies; prints what does not, exits 1
  mutants.py names [WORD...]   the names, or those that hold a WORD
  mutants.py tests NAME        the tests that must notice it, one a line
  mutants.py apply NAME TREE WHOLE
                               makes the change in a copy of the tree, keeps the files as they were below WHOLE, and
                               prints their names
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {"unit", "store", "host", "cli", "tune", "bench"}


class Mutant:
    def __init__(self, place, name):
        self.place, self.name, self.tests, self.changes = place, name, [], []
        self.file = None

    def read(self, line):
        word, _, rest = line.partition(" ")
        if word == "file":
            self.file = rest
        elif word == "test":
            self.tests.append(rest)
        elif word == "-":
            self.changes.append([self.file, rest, ""])
        elif word == "+":
            self.changes[-1][2] = rest
        else:
            sys.exit(f"{self.place}: {line}: a line begins with file, test, - or +")

    def apply(self, tree):
        """The changed texts by file, or a sentence about what does not fit."""
        texts = {}
        for file, old, new in self.changes:
            path = tree / file
            if file not in texts and not path.is_file():
                return None, f"{file} does not exist"
            text = texts.get(file) or path.read_text()
            if text.count(old) != 1:
                return None, f"{file} holds {text.count(old)} times: {old}"
            texts[file] = text.replace(old, new)
        return texts, ""

    def wrong(self, tree):
        if not self.changes or not self.tests:
            return "it has no change or no test"
        unknown = [test for test in self.tests if test.split()[0] not in KINDS]
        return f"there is no such test: {unknown[0]}" if unknown else self.apply(tree)[1]


def read_all():
    mutants = {}
    for path in sorted(HERE.glob("*.txt")):
        current = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            place = f"tools/mutants/{path.name}:{number}"
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith("mutant "):
                current = Mutant(place, line.split()[1])
                if current.name in mutants:
                    sys.exit(f"{place}: there are two mutants {current.name}")
                mutants[current.name] = current
            elif current is None:
                sys.exit(f"{place}: expected: mutant NAME")
            else:
                current.read(line)
    return mutants


def check(mutants):
    bad = {m: m.wrong(HERE.parents[1]) for m in mutants.values()}
    for mutant, why in bad.items():
        if why:
            print(f"{mutant.place}: {mutant.name}: {why}")
    sys.exit(1 if any(bad.values()) else 0)


def main(arguments):
    mutants = read_all()
    action = arguments[0] if arguments else ""
    if action == "check":
        check(mutants)
    elif action == "names":
        words = arguments[1:]
        print(*[name for name in mutants if not words or any(word in name for word in words)], sep="\n")
    elif action == "tests":
        print(*mutants[arguments[1]].tests, sep="\n")
    elif action == "apply":
        tree, whole = pathlib.Path(arguments[2]), pathlib.Path(arguments[3])
        texts, why = mutants[arguments[1]].apply(tree)
        if why:
            sys.exit(why)
        for file, text in texts.items():
            (whole / file).parent.mkdir(parents=True, exist_ok=True)
            (whole / file).write_text((tree / file).read_text())
            (tree / file).write_text(text)
            print(file)
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
