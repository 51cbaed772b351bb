"""Functions of tensors from formulas: quern.fuse("out = relu(x + m * y + b)")."""
import functools
import math
from numbers import Real

from quern import _quern

DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
_BITS = ("uint8", "uint16")  # may hold what NumPy has no type for: the program says what

_MOST_KNOWN = 1024  # shapes of one function; then they are found again


def _broadcast(a, b):
    """The shape of the result of two tensors, as PyTorch and NumPy have it; None: there is none."""
    if len(a) < len(b):
        a, b = b, a
    made = list(a)
    for d in range(-len(b), 0):
        if made[d] == 1:
            made[d] = b[d]
        elif b[d] != 1 and b[d] != made[d]:
            return None
    return tuple(made)


def _kind_in(shape, full):
    """The kind of an operand of that shape beside full ones; None: it has none."""
    shape = (1,) * (len(full) - len(shape)) + tuple(shape)
    if shape == full:
        return "full"
    if shape[-1] == full[-1]:
        return "row" if math.prod(shape[:-1]) == 1 else None
    if shape[-1] == 1:
        return "column" if shape[:-1] == full[:-1] else "scalar" if math.prod(shape) == 1 else None
    return None


def _full_shape(inputs, shapes):
    """The shape of what is full: all inputs broadcast. A declared row or column may have other dimensions."""
    full, column = (), None
    for (name, _, kind), shape in zip(inputs, shapes):
        if shape is None or kind in ("scalar", "number"):
            continue
        if kind == "column":
            column = tuple(shape)
            continue
        before, full = full, _broadcast(full, (math.prod(shape),) if kind == "row" else tuple(shape))
        if full is None:
            raise ValueError(f"{name} has shape {list(shape)}, which does not broadcast with {list(before)}")
    if column is not None and len(full) < 2:
        full = (column[:-1] if len(column) > 1 and column[-1] == 1 else column) + (full or (1,))
    return full


def kinds_of(inputs, shapes):
    """The kinds that inputs have in a call, and the shape of what is full. A shape is None for a Python number."""
    full, kinds = _full_shape(inputs, shapes), []
    for (name, _, kind), shape in zip(inputs, shapes):
        if shape is None:
            kind = "number"
        elif kind in ("number", "scalar"):
            if math.prod(shape) != 1:
                raise ValueError(f"{name} has shape {list(shape)}; it is a {kind}: give a tensor of one element, or a float")
            kind = "scalar"
        elif kind == "full":
            kind = _kind_in(shape, full)
        if kind is None:
            raise ValueError(
                f"{name} has shape {list(shape)}; beside {list(full)} an input is that, a row {list(full[-1:])}, "
                f"a column {list(full[:-1]) + [1]} or one element: expand it"
            )
        kinds.append(kind)
    return tuple(kinds), full


def _promoted(dtypes):
    """That of an output without one: as PyTorch promotes, where all have 8 bits f32."""
    wide = {dtype for dtype in dtypes if dtype in ("f32", "f16", "bf16")}
    return wide.pop() if len(wide) == 1 else "f32"


@functools.lru_cache(maxsize=None)
def specialized(text, dtypes, kinds):
    """The program for inputs of these types and kinds, "none" a number's type: its text, the type of what has none in
    it, the places of its tensors and of its numbers among the inputs of the text, and its outputs."""
    text, inputs, outputs = _quern._program(text)
    of_tensors = [d for d, k in zip(dtypes, kinds) if k in ("full", "row", "column")] or [d for d in dtypes if d != "none"]
    usual, names = _promoted(of_tensors), [name for name, _, _ in inputs]
    words = [(n, d, k) for n, d, k in zip(names, dtypes, kinds)] + [o for o in outputs if o[0] not in names]
    declared = [statement for statement in text.split("; ") if ":" in statement]  # only they have a colon
    saved = {statement.partition(":")[0] for statement in declared if statement.endswith(" saved")}
    made = [f"{n}:{'' if d in ('none', usual) else ' ' + d} {k}{' saved' * (n in saved)}" for n, d, k in words]
    made += [statement for statement in text.split("; ") if ":" not in statement]
    text, inputs, outputs = _quern._program("; ".join(made))
    places = [names.index(name) for name, _, _ in inputs]
    tensors = tuple(p for p in places if kinds[p] != "number")
    numbers = tuple((f"number_{i}", p) for i, p in enumerate(p for p in places if kinds[p] == "number"))
    return text, usual, tensors, numbers, outputs


def _with_saved(program, save):
    """The text of a program of which these outputs are saved."""
    text, _, outputs = _quern._program(program)
    statements, names = text.split("; "), [name for name, _, _ in outputs]
    for name in (save,) if isinstance(save, str) else save:
        if name not in names:
            raise ValueError(f"the program has no output {name} to save; its outputs are {', '.join(names)}")
        declared = [i for i, statement in enumerate(statements) if statement.startswith(f"{name}:")]
        if not declared:
            statements.insert(0, f"{name}: saved")
        elif not statements[declared[0]].endswith(" saved"):
            statements[declared[0]] += " saved"
    return "; ".join(statements)


def extents(kinds, full):
    """The extents of a launch that no tensor of these kinds has."""
    given = {}
    if "full" not in kinds and "row" not in kinds:
        given["width"] = full[-1] if full else 1
    if "full" not in kinds and "column" not in kinds:
        given["rows"] = math.prod(full[:-1])
    return given


def shape_of(kind, full):
    """Of an output."""
    return {"full": full, "column": full[:-1], "row": full[-1:], "scalar": ()}[kind]


_BLOCKS = {"mx": 32, "block128": 128}  # elements of a row that share a scale


def scales_shapes(settings, outputs, full):
    """Of the scales of each output that is quantized."""
    if not settings:
        return []
    blocks, rows = 1, math.prod(full[:-1])
    if settings["scaling"] in _BLOCKS:
        blocks = -(-(full[-1] if full else 1) // _BLOCKS[settings["scaling"]])
    blocked = settings.get("scale_layout") == "blocked"
    shape = (-(-rows // 128) * 128 * -(-blocks // 4) * 4,) if blocked else (*full[:-1], blocks)
    return [shape for _, dtype, kind in outputs if kind == "full" and dtype in ("e4m3", "e5m2")]


def _described(value):
    """Type and shape; None of a Python number, and of NumPy's, which are not in a device's memory."""
    shape = getattr(value, "shape", None)
    return None if shape is None or (not shape and isinstance(value, Real)) else (value.dtype, shape)


class Fused:
    """A function of tensors: a program of formulas, compiled for the types and kinds of what it is called with.

    Inputs are given by name, or by position in the order of `inputs`. A tensor is of any package that quern.gather takes.
    Shapes broadcast as in PyTorch, up to a row [width], a column [..., 1] or one element beside full ones [..., width].
    A Python number is an argument of the launch: another value compiles nothing. An input that is declared a number may be
    a tensor of one element. An output without a type has that to which PyTorch promotes the inputs'.

    out: a tensor to write, or a list of them, where there are several outputs; stream, runtime and config: as
    quern.pointwise takes them. An input with such a name is given by position.

    With a scaling, results are the outputs, then the scales of those that are quantized, [..., scales of a row].
    """

    _specialized = staticmethod(specialized)

    def __init__(self, program, save=(), **scaling):
        self.text, self.inputs, self.outputs = _quern._program(_with_saved(program, save) if save else program)
        self.scaling = {name: value for name, value in scaling.items() if value is not None}
        if self.scaling.get("scaling", "none") == "none":
            if any(name != "scaling" for name in self.scaling):
                raise ValueError("mode, policy and scale_layout are for a scaling: give scaling='mx', 'row' or 'block128'")
            self.scaling = {}
        self._names = tuple(name for name, _, _ in self.inputs)
        self._known = {}

    def __repr__(self):
        return f"quern.fuse({self._described_as()})"

    def _described_as(self):
        return ", ".join([repr(self.text), *(f"{name}={value!r}" for name, value in self.scaling.items())])

    def gradient(self, *names):
        """The function that returns d_NAME for each of the inputs `names`, of the inputs and saved outputs that it needs
        and d_OUT of each output. With a scaling too: of the numbers before they are quantized."""
        return type(self)(_quern._program(self.text, names)[0])

    def _bound(self, given, named):
        """The inputs' values, in order."""
        if not named and len(given) == len(self._names):
            return given
        rest = self._names[len(given) :]
        if len(named) == len(rest) and len(given) <= len(self._names) and all(n in named for n in rest):
            return (*given, *[named[n] for n in rest])
        missing = [n for n in rest if n not in named]
        wrong = [n for n in named if n not in self._names]
        what = f"{missing[0]} is not given" if missing else f"there is no {wrong[0]}" if wrong else "one is given twice"
        raise TypeError(f"{what}; the inputs are {', '.join(self._names)}")

    def _dtype_of(self, value, place):
        name, declared, _ = self.inputs[place]
        own = str(value.dtype).rpartition(".")[2]
        if declared != "none" and (own in _BITS or DTYPES.get(own) == declared):
            return declared
        if own not in DTYPES or declared != "none":
            takes = declared if declared != "none" else ", ".join(DTYPES)
            raise TypeError(f"{name} has elements of type {own}; it takes {takes}")
        return DTYPES[own]

    def _found(self, values):
        """(settings of pointwise, places of its tensors, (name, place) of its numbers, shapes of its outputs)."""
        key = tuple([_described(v) for v in values])
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = self._find(values)
        return found

    def _find(self, values):
        shapes = [None if d is None else tuple(d[1]) for d in [_described(v) for v in values]]
        kinds, full = kinds_of(self.inputs, shapes)
        dtypes = tuple(["none" if s is None else self._dtype_of(v, i) for i, (v, s) in enumerate(zip(values, shapes))])
        text, dtype, tensors, numbers, outputs = self._specialized(self.text, dtypes, kinds)
        settings = dict(expr=text, dtype=dtype, **extents(kinds, full), **self.scaling)
        shapes = [shape_of(kind, full) for _, _, kind in outputs] + scales_shapes(self.scaling, outputs, full)
        return settings, tensors, numbers, shapes

    def _outputs(self, out, results):
        """The results that are given, as the kernel names them: one tensor, or as many as there are results."""
        given, names = out if isinstance(out, (list, tuple)) else [out], [name for name, _, _ in self.outputs]
        if len(given) != results or any(o is None for o in given):
            names += ["their scales"] * (results != len(names))
            raise TypeError(f"out has {len(given)} tensors; give one for each output: {', '.join(names)}")
        named = {"outputs": list(given[: len(names)]), "scales": list(given[len(names) :])}
        return {name: tensors for name, tensors in named.items() if tensors}

    def __call__(self, /, *values, out=None, stream=None, runtime=None, config=None, **named):
        values = self._bound(values, named)
        settings, tensors, numbers, shapes = self._found(values)
        given = {name: values[place] for name, place in numbers}
        if out is not None:
            given.update(self._outputs(out, len(shapes)))
        for name, value in (("stream", stream), ("runtime", runtime), ("config", config)):
            if value is not None:
                given[name] = value
        made = _quern.pointwise(inputs=[values[place] for place in tensors], **given, **settings)
        if out is not None:
            return out
        return results([m for part in made for m in part] if self.scaling else made, shapes)


def results(made, shapes):
    """One tensor, or a tuple of several, of these shapes."""
    made = tuple([m if m.shape == s else m.reshape(s) for m, s in zip(made, shapes)])
    return made[0] if len(made) == 1 else made


def fuse(program, scaling=None, mode=None, policy=None, scale_layout=None, save=()):
    """A function of tensors that computes a program, "out = relu(x + m * y + b)", in one kernel. docs/expressions.md has
    its language, help(quern.fuse(...)) its arguments. quern.torch.fuse has gradients.

    scaling: "mx", "row" or "block128" quantizes the outputs of e4m3 and e5m2, and returns their scales after the outputs;
    mode, policy and scale_layout ("plain" or "blocked"): how they are made and lie in memory, as with quern.mxfp8.
    save: an output, or several, that the gradient reads; else it computes the values again."""
    return Fused(program, save, scaling=scaling, mode=mode, policy=policy, scale_layout=scale_layout)
