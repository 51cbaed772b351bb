#!/usr/bin/env python3
"""That each source compiles alone, so that it includes what it needs, and that clang-tidy finds nothing in it. Most of
clang-tidy's time is the standard library's headers, so it gets the files of a folder joined, up to eight at a time; alone
each is checked for what a joined file hides, with the library read from a Clang module, in which what a source did not
include stays hidden.

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
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOINED = 8
# That it compiles, and what is looked for in the main file only, which is one that has no code where files are joined.
ALONE = "-*,clang-diagnostic-*,misc-unused-using-decls,misc-unused-alias-decls,bugprone-suspicious-include"
# What changes only the code that is made: without it more sources share a module. And what the library's headers ask for.
CODE = re.compile(r"-O|-g|-fPIC$|-fvisibility|-ffp-contract=")
ASKED = re.compile(r"-std=|-stdlib=|--target|-f|-m|-D_")
# A module takes as long to make as this many sources without it.
WORTH_A_MODULE = 8


def commands(build):
    """Of each source the compilers with their options, without the file and what they make, and where they run."""
    found = {}
    for line in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(line["command"])
        options = words[:words.index("-o")]
        found.setdefault(pathlib.Path(line["file"]), []).append((tuple(options), line["directory"]))
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


def entry(source, options, directory):
    """Its line of compile_commands.json."""
    return {"file": str(source), "directory": str(directory), "command": shlex.join([*options, "-c", str(source)])}


def write_commands(folder, entries):
    (folder / "compile_commands.json").write_text(json.dumps(entries))


def joined(group, command, folder, number):
    """A source that includes the group's, and its line of compile_commands.json."""
    options, directory = command
    source = folder / f"{group[0].parent.name}_{number}.cpp"
    source.write_text("".join(f'#include "{member}"\n' for member in group))
    return source, entry(source, options, directory)


def tidy_words(clang_tidy, folder, source, checks):
    return [clang_tidy, "-p", str(folder), f"--config-file={ROOT / '.clang-tidy'}", "--quiet", "--warnings-as-errors=*",
            f"--checks={checks}", str(source)]


def included(sources):
    """The libraries' C++ headers that the sources or the headers beside them include, as they spell them."""
    files = {*sources, *(header for folder in {source.parent for source in sources} for header in folder.glob("*.h"))}
    texts = [file.read_text() for file in files]
    return sorted({name for text in texts for name in re.findall(r"^#include (<[a-z_/]+(?:\.hpp)?>)", text, re.MULTILINE)})


def guarded(header):
    """Whether a second #include of it does nothing. The other headers take part in what includes them."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(errors="replace"), flags=re.DOTALL)
    first = re.search(r"^[ \t]*#[ \t]*(if.*|pragma[ \t]+once)", text, re.MULTILINE)
    if first is None:
        return False
    name = re.match(r"if(?:ndef|[ \t]*![ \t]*defined)[ \t(]*(\w+)", first[1])
    return first[1].startswith("pragma") or (
        name is not None and re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name[1]}\b", text, re.MULTILINE) is not None)


def module_map(headers):
    """One module with a part for each header, so that a header shows what it includes itself and no more. In the order in
    which the compiler came to them: some need what another included before them."""
    lines = [f'  module part{number} {{ header "{header}" export * }}' if guarded(header) else f'  textual header "{header}"'
             for number, header in enumerate(headers)]
    return "\n".join(["module standard_library [system] {", *lines, "}", ""])


def library_flags(clang_tidy, folder, options, macros, names):
    """What has the standard library read from a module, once that is made; nothing where its headers make none. The macros
    are the project's, which the library does not know."""
    folder.mkdir()
    source, made = folder / "library.cpp", folder / "library.modulemap"
    source.write_text("".join(f"#include {name}\n" for name in names))
    write_commands(folder, [entry(source, options, folder)])
    words = tidy_words(clang_tidy, folder, source, ALONE)
    status, output = run([*words, "--extra-arg=-H"], folder)  # says which headers it enters
    entered = re.findall(r"^\.+ (.*)$", output, re.MULTILINE)
    headers = dict.fromkeys(pathlib.Path(os.path.realpath(header)) for header in entered)
    made.write_text(module_map(headers))
    # Without C++20's modules a header of the module sees all before it. Some of the library's need that.
    flags = ["-fmodules", "-fno-implicit-module-maps", f"-fmodule-map-file={made}", f"-fmodules-cache-path={folder}",
             "-Xclang", "-fno-cxx-modules", *(f"-fmodules-ignore-macro={macro}" for macro in macros)]
    words += [f"--extra-arg={flag}" for flag in flags]
    if status == 0:
        status, output = run(words, folder)
    if status != 0:
        print(f"tidy.py: no module of the standard library, so this takes longer\n{output[:2000]}", flush=True)
        return []
    return flags


def modular(sources, commands_of, clang_tidy, folder):
    """Writes the commands of the sources, with the library as a module for those that can have it."""
    shutil.rmtree(folder, ignore_errors=True)  # so that nothing of a library before an update stays
    folder.mkdir()
    all_commands = [(source, [word for word in options if not CODE.match(word)], directory)
                    for source in sources for options, directory in commands_of[source]]

    def key(command):
        return [word for word in command[1] if ASKED.match(word)]

    names = included(sources)
    entries = []
    for number, (_, members) in enumerate(itertools.groupby(sorted(all_commands, key=key), key=key)):
        members = list(members)
        flags = []
        if len(members) >= WORTH_A_MODULE:
            options = [word for _, options, _ in members for word in options]
            macros = sorted({word[2:].split("=")[0] for word in options if re.match("-D[^_]", word)})
            flags = library_flags(clang_tidy, folder / str(number), members[0][1], macros, names)
        entries += [entry(source, [*options, *flags], directory) for source, options, directory in members]
    write_commands(folder, entries)


def works(sources, build, clang_tidy):
    """What to run, the longest first."""
    commands_of = commands(build)
    missing = [str(source) for source in sources if source not in commands_of]
    if missing:
        sys.exit(f"tidy.py: no command in {build}/compile_commands.json for {', '.join(missing)}")
    folder = build / "joined"
    folder.mkdir(exist_ok=True)
    command_of = {source: commands_of[source][0] for source in sources}
    all_groups = list(groups(sources, command_of))
    made = [joined(group, command_of[group[0]], folder, number) for number, group in enumerate(all_groups)]
    write_commands(folder, [line for _, line in made])
    for group, (source, _) in zip(all_groups, made):
        yield functools.partial(tidy, clang_tidy, folder, source, build, group)
    modular(sources, commands_of, clang_tidy, build / "alone")
    for source in sources:
        yield functools.partial(alone, clang_tidy, build, source)


def run(words, folder):
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def alone(clang_tidy, build, source):
    """What is found with the library as a module counts where it is found without it too: the module may be at fault."""
    status, output = run(tidy_words(clang_tidy, build / "alone", source, ALONE), build)
    if status != 0:
        status, output = run(tidy_words(clang_tidy, build, source, ALONE), build)
    return status, output


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
