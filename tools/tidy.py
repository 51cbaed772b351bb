#!/usr/bin/env python3
"""That each source compiles alone, so that it includes what it needs, and that clang-tidy finds nothing in it. Most of
clang-tidy's time is the standard library's headers, so it gets the files of a folder joined, up to eight at a time; alone
each is checked for what a joined file hides.

usage: tidy.py BUILD CLANG_TIDY <SOURCES
  BUILD       a folder with the compile_commands.json of clang++, without QUERN_PRECOMPILE
  CLANG_TIDY  the program
  SOURCES     the sources' paths, one a line
Prints what was found. Exit status 1: something was."""
import concurrent.futures
import functools
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOINED = 8
# That it compiles, and what is looked for in the main file only, which is one that has no code where files are joined.
ALONE = "-*,clang-diagnostic-*,misc-unused-using-decls,misc-unused-alias-decls,bugprone-suspicious-include"


def commands(build):
    """Of each source the compiler with its options, without the file and what it makes, and where it runs."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        options = words[:words.index("-o")]
        found.setdefault(pathlib.Path(entry["file"]), (tuple(options), entry["directory"]))
    return found


def groups(sources, command_of):
    """Sources of a folder that have the same options; what has a main stays alone."""

    def key(source):
        alone = source if " main(" in source.read_text() else source.parent
        return str(alone), command_of[source]

    for _, members in itertools.groupby(sorted(sources, key=key), key=key):
        members = list(members)
        parts = -(-len(members) // JOINED)
        for _, part in itertools.groupby(enumerate(members), lambda item: item[0] * parts // len(members)):
            yield [member for _, member in part]


def joined(group, command, folder, number):
    """A source that includes the group's, and its line of compile_commands.json."""
    options, directory = command
    source = folder / f"{group[0].parent.name}_{number}.cpp"
    source.write_text("".join(f'#include "{member}"\n' for member in group))
    return source, {"file": str(source), "directory": directory, "command": shlex.join([*options, "-c", str(source)])}


def tidy_words(clang_tidy, folder, source, checks):
    return [clang_tidy, "-p", str(folder), f"--config-file={ROOT / '.clang-tidy'}", "--quiet", "--warnings-as-errors=*",
            f"--checks={checks}", str(source)]


def works(sources, build, clang_tidy):
    """What to run, the longest first."""
    command_of = commands(build)
    missing = [str(source) for source in sources if source not in command_of]
    if missing:
        sys.exit(f"tidy.py: no command in {build}/compile_commands.json for {', '.join(missing)}")
    folder = build / "joined"
    folder.mkdir(exist_ok=True)
    all_groups = list(groups(sources, command_of))
    made = [joined(group, command_of[group[0]], folder, number) for number, group in enumerate(all_groups)]
    (folder / "compile_commands.json").write_text(json.dumps([entry for _, entry in made]))
    for group, (source, _) in zip(all_groups, made):
        yield functools.partial(tidy, clang_tidy, folder, source, build, group)
    for source in sources:
        yield functools.partial(run, tidy_words(clang_tidy, build, source, ALONE), folder)


def run(words, folder):
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def tidy(clang_tidy, folder, source, build, group):
    """Of a group in which something was found each alone: names of two may be the same, which is no finding."""
    joined_checks = "-bugprone-suspicious-include"  # joining is what it looks for
    status, output = run(tidy_words(clang_tidy, folder, source, joined_checks), folder)
    if status != 0 and len(group) > 1:
        alone = [run(tidy_words(clang_tidy, build, member, joined_checks), folder) for member in group]
        status, output = next((done for done in alone if done[0] != 0), (0, ""))
    return status, output


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    build = pathlib.Path(sys.argv[1]).resolve()
    sources = [(ROOT / line).resolve() for line in sys.stdin.read().split()]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, output in pool.map(lambda work: work(), works(sources, build, sys.argv[2])):
            if status != 0:
                failed += 1
                print(output, flush=True)
    print(f"{len(sources)} sources: {failed} commands failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
