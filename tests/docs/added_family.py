"""What docs/adding-a-family.md has one do once the files are there, in seconds: a command that has the family too, linked
from the objects of a build that has it not. Usage, in a checkout: added_family.py FAMILY BUILD OUTPUT_FOLDER
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys


def main():
    family, build, out = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    add_line(pathlib.Path('templates/CMakeLists.txt'), f'quern_builtin_family({family})\n')
    configure(build, out)
    run(['cmake', '--build', out, '--target', f'quern_objects_embeds_{family}'])
    objects = [compiled(out, name) for name in (f'{family}.cpp', f'{family}_sources.cpp', 'builtin_families.cpp')]
    link(build, out / 'quern', objects)


def run(command, folder=None):
    subprocess.run([str(word) for word in command], cwd=folder, check=True)


def add_line(path, line):
    text = path.read_text()
    path.write_text(text.replace('quern_finish_builtin_families', line + '\nquern_finish_builtin_families'))


def configure(build, out):
    """As `build` was, but without what is not needed here."""
    cache = (build / 'CMakeCache.txt').read_text()
    generator = re.search('^CMAKE_GENERATOR:INTERNAL=(.*)$', cache, re.MULTILINE).group(1)
    same = [f'-D{name}={value}' for name, value in re.findall('^(QUERN_CUDA_INCLUDE|CMAKE_CXX_COMPILER):.*=(.*)$', cache, re.MULTILINE)]
    run(['cmake', '-S', '.', '-B', out, '-G', generator, '-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_EXPORT_COMPILE_COMMANDS=ON',
         '-DQUERN_BUILD_TESTS=OFF', '-DQUERN_INSTALL=OFF', *same])


def compiled(out, name):
    """The object of the one source with that name."""
    [entry] = [entry for entry in json.loads((out / 'compile_commands.json').read_text())
               if pathlib.Path(entry['file']).name == name]
    words = shlex.split(entry['command'])
    target = pathlib.Path(entry['directory']) / words[words.index('-o') + 1]
    target.parent.mkdir(parents=True, exist_ok=True)
    run(words, entry['directory'])
    return target


def link(build, program, objects):
    """As the command of `build` was linked; what comes first is taken and not that of an archive."""
    written = build / 'CMakeFiles/quern_cli.dir/link.txt'  # by Makefiles
    if written.exists():
        line = written.read_text()
    else:
        line = subprocess.run(['ninja', '-C', build, '-t', 'commands', 'quern_cli'], check=True, capture_output=True,
                              text=True).stdout.splitlines()[-1]
    words = next(shlex.split(part) for part in line.split(' && ') if ' -o ' in part)
    words[words.index('-o') + 1] = str(program)
    run([*words[:words.index('-o')], *map(str, objects), *words[words.index('-o'):]], build)


main()
