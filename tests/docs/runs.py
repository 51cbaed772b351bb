"""Runs what the pages and the help texts print, and compiles their examples."""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

from pages import Command, commands

SECONDS = 300
# The only programs whose commands may be marked in a page as not run by a test.
MAY_BE_UNTESTED = {'docker', 'kubectl', 'sbatch'}


class Scratch:
    """A folder that looks like a checkout with a build, and holds the files that commands of the pages name."""

    def __init__(self, root, quern):
        self.root, self.quern = root, quern

    def __enter__(self):
        self._temporary = tempfile.TemporaryDirectory(prefix='quern-pages-')  # goes too if what follows fails
        self.folder = pathlib.Path(self._temporary.name)
        for path in self.root.iterdir():
            if path.name not in ('build', 'templates', '.git'):
                (self.folder / path.name).symlink_to(path)
        shutil.copytree(self.root / 'templates', self.folder / 'templates')  # a page adds a family
        (self.folder / 'build').mkdir()
        (self.folder / 'build/dev').symlink_to(self._build())
        self._environment()
        self._files()
        return self

    def __exit__(self, *_):
        self._temporary.cleanup()

    def _build(self):
        return self.quern.parent.parent if self.quern.parent.name == 'bin' else self.quern.parent

    def _environment(self):
        here = str(self.folder)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith('QUERN_')}
        self.environment |= {
            'PATH': f'{self.quern.parent}:{self._build()}:{os.environ["PATH"]}', 'HOME': here, 'XDG_DATA_HOME': here + '/data',
            'XDG_CACHE_HOME': here + '/images', 'QUERN_CACHE_DIR': here + '/images/quern',
            'QUERN_LIBCUDA': str(self._build() / 'libquern_hostdriver.so')}
        for name in ('QUERN_NVRTC', 'QUERN_CUDA_INCLUDE'):  # of this machine, not settings
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def _files(self):
        write_npy(self.folder / 'x.npy', '<f4', (3, 4096), struct.pack('<12288f', *range(12288)))
        write_npy(self.folder / 'i.npy', '<i8', (4,), struct.pack('<4q', 2, 0, 1, 2))
        write_npy(self.folder / 'bad.npy', '<i8', (5,), struct.pack('<5q', 6, 0, 1, 2, 3))
        made = self.run((pathlib.Path(__file__).parent / 'fixtures.sh').read_text())
        if made.returncode:
            raise SystemExit('fixtures.sh: ' + made.stderr)

    def run(self, text, gpu=False):
        environment = dict(self.environment)
        if gpu:
            del environment['QUERN_LIBCUDA']
        return subprocess.run(['bash', '-c', 'set -o pipefail\n' + text], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=SECONDS)


def write_npy(path, kind, shape, data):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    path.write_bytes(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + data)


# ---- Commands ------------------------------------------------------------------------------------------------------

class Table:
    """commands.txt: what is run in place of a command that is too large, or what runs it."""

    def __init__(self, path):
        self.ways, self.used, command = {}, set(), None
        for line in path.read_text().splitlines():
            if not line.strip() or line.startswith('#'):
                continue
            if line.startswith(' '):
                self.ways[command].append(line.split(maxsplit=1))
            else:
                command = line
                if command in self.ways:
                    raise SystemExit(f'{path.name} has {command} twice')
                self.ways[command] = []

    def ways_of(self, command):
        self.used.add(command)
        return self.ways.get(command, [['run', command]])

    def unused(self):
        return sorted(set(self.ways) - self.used)


def _all_commands(pages, usage):
    for page in pages:
        yield from commands(page)
    for place in usage.places:
        for text in usage.examples(place):
            yield Command('quern help ' + place, 0, text, None, '')


def check_commands(scratch, pages, usage, report, gpu):
    table, done = Table(pathlib.Path(__file__).parent / 'commands.txt'), set()
    for command in _all_commands(pages, usage):
        what = f'{command.page}{f":{command.line}" if command.line else ""} {command.text}'
        if command.untested:
            known = command.untested.split()[0] in MAY_BE_UNTESTED
            report.say(f'{what} (untested: {command.untested})', [] if known else ['only docker, kubectl and sbatch may be'])
        elif command.text not in done or command.output is not None:
            done.add(command.text)
            _check_command(scratch, command, what, table.ways_of(command.text), usage, report, gpu)
    if not gpu:
        report.say('commands.txt: each is in a page', table.unused())


def _check_command(scratch, command, what, ways, usage, report, gpu):
    for kind, text in ways:
        if kind == 'by' and not gpu:
            report.say(f'{what} (run by {text.split()[0]})', _not_in_file(scratch.root, *text.split(maxsplit=1)))
        elif kind == 'gpu' if gpu else kind == 'run':
            faults = _option_faults(command.text, usage) + _same_command_faults(command.text, text)
            report.say(what if text == command.text else f'{what} (as {text})', faults or _run(scratch, command, text, gpu))


def _quern_parts(text):
    """The parts of a command line that call quern, each from that word on."""
    parts = re.split(r'\s*(?:;|&&|\|\||\||>)\s*', text)
    found = [re.match(r'(?:[A-Z_]+=\S* +)*(?:\S*/)?(quern .*)', part) for part in parts]
    return [match.group(1) for match in found if match]


def _option_faults(text, usage):
    return [fault for part in _quern_parts(text) for fault in usage.faults(part)]


def _same_command_faults(printed, run):
    """A replacement that does something else proves nothing."""
    kinds = [{part.split()[1] for part in _quern_parts(text)} for text in (printed, run)]
    return [] if kinds[0] <= kinds[1] else [f'{run} does not run {kinds[0] - kinds[1]}']


def _not_in_file(root, name, needle=''):
    path = root / name
    return [] if path.is_file() and needle in path.read_text() else [f'{name} does not say "{needle}"']


def _run(scratch, command, text, gpu):
    try:
        done = scratch.run(text, gpu)
    except subprocess.TimeoutExpired:
        return [f'not done in {SECONDS} s']
    if command.output is not None:
        return _differences(command.output, done.stdout + done.stderr)
    seen = (done.stdout + done.stderr).splitlines()
    return [f'exit code {done.returncode}', *seen[-20:]] if done.returncode else []


def _pattern(line):
    """… in a line of a listing is any text, and a line of … alone is any lines."""
    if line.strip() == '…':
        return '(?:.*\n)*'
    return '.*'.join(re.escape(part) for part in line.rstrip().split('…')) + ' *\n'


def _differences(printed, seen):
    """A listing that is not what was seen, line beside line."""
    printed = '\n'.join(printed).strip('\n').split('\n')
    if re.fullmatch(''.join(map(_pattern, printed)), seen.rstrip('\n') + '\n'):
        return []
    return ['in the page:', *printed, 'seen:', *seen.splitlines()]


# ---- Examples ------------------------------------------------------------------------------------------------------

def check_examples(scratch, pages, include, report, gpu):
    """Each C++ block of a page is compiled by examples/PAGE_NUMBER.cpp, which includes it as QUERN_PAGE_EXAMPLE."""
    for page in pages:
        blocks = [block for block in page.blocks if block.language == 'cpp']
        for number, block in enumerate(blocks, 1):
            name = page.name.removesuffix('.md').replace('/', '_').lower() + f'_{number}'
            code = scratch.folder / f'{name}.inc'
            code.write_text('\n'.join('' if line.strip() == '…' else line for line in block.lines) + '\n')
            wrapper = pathlib.Path(__file__).parent / 'examples' / f'{name}.cpp'
            if gpu:
                _run_example(scratch, page, block, wrapper, code, include, report)
            else:
                report.say(f'{block.page}:{block.line} compiles', _compile(scratch, wrapper, code, include))


def _compiler(wrapper, code, include):
    standard = '20' if 'C++20' in wrapper.read_text() else '17'
    return f'c++ -std=c++{standard} -Wall -Wextra -DQUERN_PAGE_EXAMPLE=\'"{code}"\' ' + ' '.join(f'-I{f}' for f in include)


def _compile(scratch, wrapper, code, include):
    if not wrapper.is_file():
        return [f'write tests/docs/examples/{wrapper.name}, which includes QUERN_PAGE_EXAMPLE where it can be compiled']
    done = scratch.run(f'{_compiler(wrapper, code, include)} -fsyntax-only {wrapper}')
    return done.stderr.splitlines() or ([f'exit code {done.returncode}'] if done.returncode else [])


def _run_example(scratch, page, block, wrapper, code, include, report):
    """A program whose output the page shows in the block after it."""
    after = page.blocks[page.blocks.index(block) + 1:]
    if 'int main() {' not in block.lines or not after:
        return
    program = scratch.folder / wrapper.stem
    build = scratch._build()
    done = scratch.run(f'set -e; {_compiler(wrapper, code, include)} {wrapper} -o {program} -L{build} -lquern '
                       f'-Wl,-rpath,{build} -L$CUDA_HOME/lib64 -lcudart -Wl,-rpath,$CUDA_HOME/lib64; '
                       f'QUERN_CACHE_DIR={program}-cache {program}', gpu=True)
    report.say(f'{block.page}:{block.line} prints what the page says', _differences(after[0].lines, done.stdout + done.stderr))
