"""Problems as objects: quern.Gather(width=7168), which str() turns to 'gather width=7168'."""
from quern import _quern


class Problem:
    """A problem of a family. Its keywords are the family's fields; quern.prepare takes it."""

    family = ""

    def __init__(self, **fields):
        known = {field["name"] for field in _quern.families()[self.family]["fields"]}
        fields = {name.removesuffix("_"): value for name, value in fields.items()}  # pass is a word of Python: pass_
        for name in fields:
            if name not in known:
                raise TypeError(f"{self.family} has no field {name}; it has {', '.join(sorted(known))}")
        self.fields = fields

    def __str__(self):
        return " ".join([self.family] + [f"{n}={_quern.setting_text(v)}" for n, v in self.fields.items()])

    def __repr__(self):
        inner = ", ".join(f"{n}{'_' if n == 'pass' else ''}={v!r}" for n, v in self.fields.items())
        return f"quern.{type(self).__name__}({inner})"

    def __eq__(self, other):
        return isinstance(other, Problem) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


def problem_class(name):
    """The class of that name, Gather for gather and MoeMap for moe_map; None if there is no such family."""
    for family, tables in _quern.families().items():
        if name == "".join(word.capitalize() for word in family.split("_")):
            fields = "\n".join(f"{f['name']:<18}{f['default']:<12}{f['sentence']}" for f in tables["fields"])
            doc = f"A problem of {family}: {tables['sentence']}.\n\n{fields}"
            return type(name, (Problem,), {"family": family, "__doc__": doc, "__module__": "quern"})
    return None
