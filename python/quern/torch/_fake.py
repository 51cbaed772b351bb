"""Results of an operator without running it: shapes and types for torch.compile, from the families' own layouts."""
import torch

import quern

DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e8m0": torch.float8_e8m0fnu,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
    "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in DTYPES.items()} | {torch.bool: "u8"}


_UNKNOWN = 1 << 16


def _hint(number):
    """The value that a symbolic size has now, without making it a constant of what is compiled. A size that data say,
    as a sum of counts, has none yet: a value that any problem takes stands for it."""
    node = getattr(number, "node", None)
    return number if node is None else int(node.require_hint(_UNKNOWN))


def _hints(numbers):
    return tuple(_hint(n) for n in numbers)


def _strides(tensor):
    """In elements; of dimensions of 1 as if packed, since any number may stand there."""
    packed, strides = 1, []
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride())):
        strides.append(packed if _hint(size) == 1 else _hint(stride))
        packed *= _hint(size)
    return tuple(reversed(strides))


def _places(given):
    """(name of its place, tensor) of each tensor that is given."""
    for name, value in given.items():
        if isinstance(value, (list, tuple)):
            yield from ((f"{name}.{i}", tensor) for i, tensor in enumerate(value))
        else:
            yield name, value


def _dimension(tensor, rank, d):
    """As quern sees it: leading dimensions are taken as one, missing ones are 1."""
    extra = tensor.dim() - rank
    if extra <= 0:
        return 1 if d + extra < 0 else tensor.shape[d + extra]
    if d > 0:
        return tensor.shape[d + extra]
    product = 1
    for size in tensor.shape[: extra + 1]:
        product = product * size
    return product


class _Problem:
    """The problem of a call, with its open extents as the tensors have them, symbols included."""

    def __init__(self, family, given, settings):
        self.given = dict(_places(given))
        open_names = {f["name"] for f in quern.families()[family.family]["fields"] if f["default"] == "open"}
        numbers = {n["name"] for n in quern.families()[family.family]["numbers"]}
        fields = {n.removesuffix("_"): v for n, v in settings.items() if n not in numbers}
        words = [f"{n}={quern._quern.setting_text(_hint_of(v))}" for n, v in fields.items()]
        described = {n: (_NAMES[t.dtype], _hints(t.shape), _strides(t)) for n, t in self.given.items()}
        text = quern.problem_of(" ".join([family.family] + words), described)
        closed = {n: _hint(settings[n]) for n in open_names if n in settings}
        self.text = " ".join(w for w in text.split(" ") if w.split("=")[0] not in closed)
        self.places = quern.places(self.text)
        self.extents = {n: settings[n] for n in closed}
        self._find_extents()
        self.kept = [f for f in quern.families()[family.family]["fields"] if f["name"] in fields and f["name"] not in closed]
        self.kept = {f["name"]: (f["kind"], fields[f["name"]]) for f in self.kept}
        self._keep_symbols()
        self._guard()

    def _find_extents(self):
        for place in self.places:
            tensor = self.given.get(place["name"])
            if tensor is None:
                continue
            for d, multiple in enumerate(place["multiples"]):
                if multiple is not None and multiple[0] not in self.extents:
                    size = _dimension(tensor, len(place["shape"]), d)
                    self.extents[multiple[0]] = size if multiple[1] == 1 else size // multiple[1]

    def _keep_symbols(self):
        """An extent that the problem holds as a number, such as a capacity, may be a symbol: so are then the sizes that
        are multiples of it, which other values of the extent show. What else depends on it becomes a constant."""
        for name, (kind, value) in self.kept.items():
            word = f" {name}={_hint_of(value)} "
            if kind != "extent":
                _fix(value)
            elif not isinstance(value, int) and word in self.text + " ":
                now = _hint(value)
                others = {n: _places_or_none((self.text + " ").replace(word, f" {name}={n} ")) for n in (2 * now, now + 1)}
                self._keep_symbol(value, now, {n: p for n, p in others.items() if p is not None})

    def _keep_symbol(self, value, now, others):
        for i, place in enumerate(self.places):
            for d, size in enumerate(place["shape"]):
                moved = {n: places[i]["shape"][d] for n, places in others.items()}
                if not others:
                    _fix(value)
                elif any(m != size for m in moved.values()):
                    if size % now == 0 and all(m == size // now * n for n, m in moved.items()):
                        place.setdefault("symbols", {})[d] = value * (size // now)
                    else:
                        _fix(value)

    def _guard(self):
        """Sizes and strides that the problem holds as numbers become constants of what is compiled: int() says so to
        torch.compile, which compiles again for others. Those of open extents stay symbols."""
        for place in self.places:
            tensor = self.given.get(place["name"])
            if tensor is None:
                continue
            rank = len(place["shape"])
            for d, (size, stride, multiple) in enumerate(zip(place["shape"], place["strides"], place["multiples"])):
                if size is not None and multiple is None and d not in place.get("symbols", {}):
                    int(_dimension(tensor, rank, d))
                own = d + tensor.dim() - rank
                if stride is not None and own >= 0 and _hint(tensor.shape[own]) != 1:
                    int(tensor.stride(own))

    def closed_places(self, number=int):
        """With every extent a number: what is not a multiple of one extent is then known."""
        words = [f"{name}={number(value)}" for name, value in self.extents.items()]
        return {place["name"]: place for place in quern.places(" ".join([self.text] + words))}

    def shape(self, place):
        shape = []
        for d, size in enumerate(place["shape"]):
            multiple = place["multiples"][d]
            size = place.get("symbols", {}).get(d, size)
            if size is None and multiple is not None:
                size = self.extents[multiple[0]] * multiple[1]
            if size is None:
                size = self.closed_places()[place["name"]]["shape"][d]
            shape.append(size)
        return shape


def _places_or_none(text):
    try:
        return quern.places(text.strip())
    except quern.Error:
        return None


def _fix(value):
    """Makes symbolic numbers constants of what is compiled."""
    for number in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(number, torch.SymInt):
            int(number)


def _hint_of(value):
    return [_hint(v) for v in value] if isinstance(value, (list, tuple)) else _hint(value)


def _with_leading(shape, multiple, first, first_place):
    """A result's dimensions as the first tensor has its own: split alike, and without those of 1 that it lacks."""
    extra = first.dim() - len(first_place["shape"])
    if extra > 0 and shape and multiple is not None and multiple == first_place["multiples"][0]:
        return list(first.shape[: extra + 1]) + shape[1:]
    while extra < 0 and len(shape) > 1 and isinstance(shape[0], int) and shape[0] == 1:
        shape, extra = shape[1:], extra + 1
    return shape


def _new(first, place, strides, shape, leading):
    """An empty tensor; a view where the dimensions lie in another order in memory."""
    order = sorted(range(len(shape)), key=lambda d: -strides[d] if _hint(shape[d]) != 1 else 0)
    long = [d for d in order if _hint(shape[d]) != 1]
    dtype = DTYPES[place["dtype"]]
    if long == sorted(long):
        return first.new_empty(leading(shape), dtype=dtype)
    return first.new_empty([shape[d] for d in order], dtype=dtype).permute([order.index(d) for d in range(len(shape))])


def results(family, given, settings):
    """Empty tensors of the shapes and types that the operator returns. given: the inputs by name."""
    problem = _Problem(family, given, settings)
    first_place = next(p for p in problem.places if p["name"] in problem.given)
    first = problem.given[first_place["name"]]
    names = {r["name"] for r in family.results}
    closed = problem.closed_places(_hint)  # only for the order of dimensions in memory
    made = []
    for place in problem.places:
        if place["name"].split(".")[0] not in names or place["role"] == "workspace":
            continue
        strides = place["strides"] if None not in place["strides"] else closed[place["name"]]["strides"]
        multiple = place["multiples"][0]
        made.append(
            _new(first, place, strides, problem.shape(place), lambda s, m=multiple: _with_leading(s, m, first, first_place))
        )
    return made
