"""Schemas of torch.ops.quern.*, from the families' tables.

A family's operator takes its inputs by position and everything else by keyword: fields that the tensors do not say,
run-time numbers and open extents. It returns its results: a Tensor where the family can have one only, else a Tensor[].
The operator NAME_out writes given results instead.
"""
import keyword
from dataclasses import dataclass, field

import quern

# Fields by kind, and numbers by type, in the language of schemas.
_KINDS = {"extent": "SymInt", "integer": "SymInt", "dtype": "str", "choice": "str", "list": "SymInt[]", "text": "str"}
_NUMBERS = {"f32": "float", "f64": "float", "i64": "int"}


@dataclass
class Family:
    """What an operator needs to know of a family."""

    name: str
    sentence: str
    inputs: list  # operands
    results: list
    settings: list = field(default_factory=list)  # (name, type): fields and numbers

    @property
    def returns_one(self):
        return len(self.results) == 1 and not self.results[0]["is_list"]

    def schema(self):
        returns = "Tensor" if self.returns_one else "Tensor[]"
        return f"{self.name}({', '.join(self._inputs() + ['*'] + self._settings())}) -> {returns}"

    def out_schema(self):
        results = [
            f"Tensor({chr(ord('a') + i)}!){'[]' if r['is_list'] else ''}? {r['name']}=None"
            for i, r in enumerate(self.results)
        ]
        named = {r["name"] for r in self.results}
        settings = [s for s in self._settings() if s.split("=")[0].split()[-1] not in named]
        settings = [s.replace(" mode=", " mode_=") for s in settings]  # torch.compile passes a mode of its own
        return f"{self.name}_out({', '.join(self._inputs() + ['*'] + settings + results)}) -> ()"

    def _inputs(self):
        rows = [f"Tensor{'[]' if i['is_list'] else ''}? {i['name']}=None" for i in self.inputs]
        if self.inputs[0]["is_list"]:  # an optional list would not be looked into for the device of the call
            rows[0] = f"Tensor[] {self.inputs[0]['name']}"
        return rows

    def _settings(self):
        return [f"{kind}? {name}=None" for name, kind in self.settings]


def _is_flag(operand):
    """A single number that a kernel updates: it cannot be made here, since its first value matters."""
    return operand["role"] == "update" and operand["shape"] == "[1]"


def _word(name, taken):
    """pass is a word of Python, and a field may have an input's name: pass_, map_."""
    return name + "_" if keyword.iskeyword(name) or name in taken else name


def _family(tables):
    inputs = [o for o in tables["operands"] if o["role"] == "input"]
    results = [o for o in tables["operands"] if o["role"] in ("output", "update") and not _is_flag(o)]
    names = {o["name"] for o in inputs}
    settings = []
    for row in tables["fields"]:
        if row["kind"] == "dtype" and row["name"] in names:
            continue  # the type of that input, which the tensor says
        settings.append((_word(row["name"], names), _KINDS[row["kind"]]))
    settings += [(n["name"], _NUMBERS[n["dtype"]]) for n in tables["numbers"]]
    return Family(tables["name"], tables["sentence"], inputs, results, settings)


FAMILIES = {name: _family(tables) for name, tables in quern.families().items()}
