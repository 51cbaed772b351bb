"""The Markdown of this repository as the checks want it: code blocks, inline code, headings, links."""
import dataclasses
import pathlib
import re


@dataclasses.dataclass
class Block:
    """A code block, fenced or indented by four spaces."""
    page: str
    line: int  # of the first line of the code
    language: str
    lines: list
    untested: str  # what an HTML comment right above says: <!-- untested: docker -->


class Page:
    def __init__(self, root, path):
        self.name = str(path.relative_to(root))
        self.folder = path.parent
        self.blocks = []
        self.prose = []  # (line, text) outside of code blocks
        self._read(path.read_text().splitlines())

    def _read(self, lines):
        at = 0
        while at < len(lines):
            fence = re.match(r'( *)```(\w*)', lines[at])
            if fence:
                at = self._fenced(lines, at, fence)
            elif lines[at].startswith('    ') and self._may_begin_code():
                at = self._indented(lines, at)
            else:
                self.prose.append((at + 1, lines[at]))
                at += 1

    # An indented line after an item of a list belongs to the item.
    def _may_begin_code(self):
        before = [text for _, text in self.prose[-2:]]
        return not before or before[-1] == '' and not any(re.match(r'\s*([-*]|\d+\.) ', text) for text in before)

    def _untested(self):
        comments = [text for _, text in self.prose[-2:] if text]
        found = re.fullmatch(r'\s*<!-- untested: (.*) -->', comments[-1]) if comments else None
        return found.group(1) if found else ''

    def _fenced(self, lines, at, fence):
        indent, end = len(fence.group(1)), at + 1
        while end < len(lines) and not lines[end].lstrip().startswith('```'):
            end += 1
        code = [line[indent:] for line in lines[at + 1:end]]
        self.blocks.append(Block(self.name, at + 2, fence.group(2), code, self._untested()))
        return end + 1

    def _indented(self, lines, at):
        end = at
        while end < len(lines) and (lines[end].startswith('    ') or lines[end] == ''):
            end += 1
        code = [line[4:] for line in lines[at:end]]
        while code and not code[-1]:
            code.pop()
        self.blocks.append(Block(self.name, at + 1, '', code, self._untested()))
        return at + len(code)

    def spans(self):
        """(line, text) of each piece of inline code. A piece may go on in the next line, but not past an empty one."""
        text, starts = '', []
        for number, line in self.prose:
            starts.append((len(text), number))
            text += line + '\n'
        for paragraph in re.finditer(r'(?:.+\n)+', text):
            for found in re.finditer(r'`([^`]+)`', paragraph.group(0)):
                place = paragraph.start() + found.start()
                yield max(number for start, number in starts if start <= place), ' '.join(found.group(1).split())

    def headings(self):
        """(line, what stands after the signs) of each line that begins with #."""
        for number, line in self.prose:
            found = re.match(r'#+(.*)', line)
            if found:
                yield number, found.group(1)

    def anchors(self):
        """The headings as GitHub names them in links."""
        return {re.sub(r'[^\w\- ]', '', text.strip().lower()).replace(' ', '-') for _, text in self.headings()}

    def links(self):
        for number, line in self.prose:
            for found in re.finditer(r'\]\(([^)\s]+)\)', re.sub(r'`[^`]*`', '', line)):
                yield number, found.group(1)


def read_pages(root):
    """Every page of the repository, README.md first."""
    folders = ['.', 'base', 'cache', 'docs', 'include', 'runtime', 'templates', 'tests', 'tools', 'cmake', 'examples']
    found = [path for folder in folders for path in sorted((root / folder).glob('*.md' if folder == '.' else '**/*.md'))]
    return [Page(root, path) for path in sorted(found, key=lambda path: path != root / 'README.md')]


# What a line of a code block begins with when it is a command.
PROGRAMS = (r'quern|quern_\w+|tools/\S+|build/\S+|app|cmake|cpack|cp|install|dpkg|apt|apt-get|tar|export|'
            r'docker|kubectl|sbatch|srun|compute-sanitizer')
COMMAND = re.compile(r'(?:[A-Z_]+=\S+ +)*(?:%s)(?: |$)' % PROGRAMS)


@dataclasses.dataclass
class Command:
    page: str
    line: int
    text: str     # without the comment after it
    output: list  # the lines below a `$ command`; None where the page shows none
    untested: str


def _without_comment(line):
    return re.sub(r'\s+#( .*)?$', '', line).rstrip()


def commands(page):
    for block in page.blocks:
        if block.language in ('', 'sh', 'bash', 'console', 'shell'):
            yield from _commands_of(block)


def _commands_of(block):
    if any(line.startswith('cd ') for line in block.lines):  # one script
        yield Command(block.page, block.line, '\n'.join(map(_without_comment, block.lines)), None, block.untested)
        return
    listing = any(line.startswith('$ ') for line in block.lines)
    at = 0
    while at < len(block.lines):
        line, first = block.lines[at], at
        while line.endswith('\\') and at + 1 < len(block.lines):
            at += 1
            line = line[:-1].rstrip() + ' ' + block.lines[at].strip()
        at += 1
        if listing and line.startswith('$ '):
            end = at
            while end < len(block.lines) and not block.lines[end].startswith('$ '):
                end += 1
            yield Command(block.page, block.line + first, _without_comment(line[2:]), block.lines[at:end], block.untested)
            at = end
        elif not listing and COMMAND.match(line):
            yield Command(block.page, block.line + first, _without_comment(line), None, block.untested)
