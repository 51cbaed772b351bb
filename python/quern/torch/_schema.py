"""Schemas of torch.ops.quern.*, from the families' tables.

A family's operator takes its inputs by position and everything else by keyword: fields that the tensors do not say,
run-time numbers and open extents. It returns its results: a Tensor where the family can have one only, else a Tensor[].
The operator NAME_out writes given results instead.
"""
import keyword
from dataclasses import dataclass, field

import quern

# Fields by kind, and numbers by type, in the language of schemas.
_KINDS = {"extent": "SymInt", "integer": "SymInt", "real": "float", "dtype": "str", "choice": "str", "list": "SymInt[]", "dtypes": "str", "text": "str"}
_NUMBERS = {"f32": "float", "f64": "float", "i64": "int"}


@dataclass
class Family:
    """What an operator needs to know of a family."""

    name: str
    family: str  # whose kernels it runs
    sentence: str
    inputs: list  # operands
    results: list
    settings: list = field(default_factory=list)  # (name, type): fields and numbers

    @property
    def returns_one(self):
        return len(self.results) == 1 and not self.results[0]["is_list"]

    def schema(self, name=None):
        """Of its operator, or of one with another name that takes the same."""
        returns = "Tensor" if self.returns_one else "Tensor[]"
        return f"{name or self.name}({self._text(self.arguments())}) -> {returns}"

    def out_schema(self):
        marked = {r["name"]: f"({chr(ord('a') + i)}!)" for i, r in enumerate(self.results)}
        rows = [(n, t.replace("Tensor", "Tensor" + marked[n]) if n in marked else t) for n, t in self.out_arguments()]
        return f"{self.name}_out({self._text(rows)}) -> ()"

    def doc(self, out=False):
        """What help() shows of its operator, or of the one that writes given results."""
        tables = quern.families()[self.family]
        lines = [f"torch.ops.quern.{self.out_schema() if out else self.schema()}", "", self.sentence, ""]
        rows = [(o["name"], f"{o['shape']}: {o['sentence']}") for o in tables["operands"] if o["role"] == "input"]
        settings = {row["name"]: row["sentence"] for row in (*tables["fields"], *tables["numbers"])}
        rows += [(name, settings[name.removesuffix("_")]) for name, _ in self.settings]
        results = [(r["name"], f"{r['shape']}: {r['sentence']}") for r in self.results]
        width = max(len(name) for name, _ in rows + results)
        lines += [f"{name:{width}}  {text}" for name, text in rows]
        lines += ["", "Writes those that are given of:" if out else "Returns those that the problem has of:"]
        return "\n".join(lines + [f"{name:{width}}  {text}" for name, text in results])

    def arguments(self):
        """(name, type) of each."""
        return self._inputs() + [(name, kind + "?") for name, kind in self.settings]

    def out_arguments(self):
        """Those of the operator that writes given results."""
        results = [(r["name"], "Tensor[]?" if r["is_list"] else "Tensor?") for r in self.results]
        named = {r["name"] for r in self.results}
        settings = [(name, kind + "?") for name, kind in self.settings if name not in named]
        settings = [("mode_" if name == "mode" else name, kind) for name, kind in settings]  # torch.compile passes a mode
        return self._inputs() + settings + results

    def _inputs(self):
        rows = [(i["name"], "Tensor[]?" if i["is_list"] else "Tensor?") for i in self.inputs]
        if self.inputs[0]["is_list"]:  # an optional list would not be looked into for the device of the call
            rows[0] = (rows[0][0], "Tensor[]")
        return rows

    def _text(self, rows):
        words = [f"{kind} {name}" + ("=None" if kind.endswith("?") else "") for name, kind in rows]
        words.insert(len(self.inputs), "*")
        return ", ".join(words)


def _is_flag(operand):
    """A single number that a kernel updates: it cannot be made here, since its first value matters."""
    return operand["role"] == "update" and operand["shape"] == "[1]"


def _word(name, taken):
    """pass is a word of Python, and a field may have an input's name: pass_, map_."""
    return name + "_" if keyword.iskeyword(name) or name in taken else name


def _family(name, tables):
    inputs = [o for o in tables["operands"] if o["role"] == "input"]
    results = [o for o in tables["operands"] if o["role"] in ("output", "update") and not _is_flag(o)]
    names = {o["name"] for o in inputs}
    settings = []
    for row in tables["fields"]:
        if row["kind"] == "dtype" and row["name"] in names:
            continue  # the type of that input, which the tensor says
        settings.append((_word(row["name"], names), _KINDS[row["kind"]]))
    settings += [(n["name"], _NUMBERS[n["dtype"]]) for n in tables["numbers"]]
    return Family(name, tables["name"], tables["sentence"], inputs, results, settings)


def _is_of_programs(row):
    of_programs = ("inputs", "outputs", "expr", "scales", "scaling", "mode", "policy", "scale_layout")
    return row["name"] in of_programs or row["name"].startswith("number_")


def _part(tables, is_in):
    return dict(tables, **{kind: [row for row in tables[kind] if is_in(row)] for kind in ("fields", "operands", "numbers")})


def _families():
    """By the operator's name. Programs of pointwise have one of their own, since PyTorch finds the device of a list only
    where it is no option."""
    for name, tables in quern.families().items():
        if name == "pointwise":
            yield name, _part(tables, lambda row: not _is_of_programs(row))
            yield "pointwise_program", _part(tables, lambda row: _is_of_programs(row) or row["name"] in ("rows", "width", "dtype"))
        else:
            yield name, tables


FAMILIES = {name: _family(name, tables) for name, tables in _families()}
