"""What a page names in inline code and links: is it there?"""
import functools
import re

from pages import Page

FOLDERS = 'base|cache|cmake|docs|examples|include|runtime|templates|tests|tools'
SOURCES = ('.cpp', '.h', '.cu', '.cuh', '.cmake', '.sh', '.py', '.in', '.txt')
# Options of other programs: NVRTC's, GoogleTest's, CMake's.
OTHER_PROGRAMS = {'--fmad', '--gpu-architecture', '--std', '--ptxas-options', '--generate-line-info', '--no-cache', '--gtest_filter'}
# Files that are not in a checkout: generated for each image, and the family that docs/adding-a-family.md has one make.
MADE = {'spec.cuh', 'row_max.h', 'row_max_choices.h', 'row_max.cpp', 'row_max.cu'}


@functools.lru_cache
def _variables(root):
    """Every word of the sources that begins with QUERN_."""
    files = [root / 'CMakeLists.txt'] + [path for folder in FOLDERS.split('|') for path in (root / folder).rglob('*')]
    return {name for path in files if path.suffix in SOURCES and path.is_file()
            for name in re.findall(r'QUERN_[A-Z0-9_]+', path.read_text(errors='replace'))}


def _has_file(root, page, name):
    name = re.sub(r':\d+$', '', name)
    return any(list(place.glob(name)) or list(place.glob(name + '.*')) for place in (root, page.folder))


def _span_faults(root, page, usage, span):
    if span.startswith('quern '):
        yield from usage.faults(span)
    option = re.match(r'--[a-z][a-z-]+', span)
    if option and option.group(0) not in usage.any_options() | OTHER_PROGRAMS:
        yield f'no command has {option.group(0)}'
    if re.fullmatch(r'(?:%s)/[\w./*-]+(?::\d+)?' % FOLDERS, span) and not _has_file(root, page, span.rstrip('/')):
        yield f'no file {span}'
    if re.fullmatch(r'[\w-]+\.(?:cpp|h|cuh?|sh|py|md|jsonl?\.gz)', span) and span not in MADE and not list(root.glob('*/**/' + span)):
        yield f'no file {span}'
    for variable in re.findall(r'QUERN_[A-Z0-9_]+', span):
        if variable not in _variables(root):
            yield f'nothing reads {variable}'


def _link_fault(page, target):
    """What is wrong with a link, if anything. Links to other places are not followed."""
    if re.match('[a-z]+:', target):
        return None
    name, _, anchor = target.partition('#')
    path = (page.folder / name).resolve() if name else None
    if path and not path.exists():
        return f'leads to {name}, which is not there'
    if anchor and anchor not in _anchors_of(page, path):
        return f'{name or page.name} has no heading {anchor}'
    return None


def _anchors_of(page, path):
    return page.anchors() if path is None else Page(path.parent, path).anchors()


def faults(root, page, usage):
    found = [f'{page.name}:{line}: no space after the signs of a heading' for line, text in page.headings()
             if not text.startswith(' ')]
    for line, span in page.spans():
        found += [f'{page.name}:{line}: `{span}`: {fault}' for fault in _span_faults(root, page, usage, span)]
    for line, target in page.links():
        fault = _link_fault(page, target)
        found += [f'{page.name}:{line}: a link {fault}'] if fault else []
    return found
