"""Prints quern/__init__.pyi, the types of the module's names, from the families' tables."""
import keyword
import sys
import textwrap

sys.path.pop(0)  # this folder, whose quern has no module beside it
import quern  # noqa: E402

HEAD = '''"""Types of quern. Made from the families' tables when the package is built."""
from typing import Any, Callable, Dict, List, Literal, Optional, Sequence, Tuple, Union

# An object with __dlpack__, __cuda_array_interface__ or __array_interface__: of PyTorch, CuPy, JAX, NumPy.
Tensor = Any
_Stream = Union[int, Any, None]
_Integers = Sequence[int]

__version__: str

class Error(Exception):
    code: str
    stage: str
    sentence: str
    family: str
    problem: str
    key: str
    log: str
    driver_code: int
    lasting: bool
    remembered: bool

class Fused:
    text: str
    inputs: Tuple[Tuple[str, str, str], ...]
    outputs: Tuple[Tuple[str, str, str], ...]
    def gradient(self, *names: str) -> "Fused": ...
    def __call__(
        self,
        *values: Union[Tensor, float],
        out: Union[Tensor, Sequence[Tensor], None] = None,
        stream: _Stream = None,
        runtime: Optional["Runtime"] = None,
        config: Optional[str] = None,
        **named: Union[Tensor, float],
    ) -> Any: ...

class Plan:
    @property
    def problem(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def operands(self) -> Tuple[Dict[str, Any], ...]: ...
    @property
    def images(self) -> Tuple[Dict[str, Any], ...]: ...
    def launch(self, *tensors: Optional[Tensor], stream: _Stream = None, **numbers: Any) -> None: ...

class Problem:
    family: str
    fields: Dict[str, Any]
    def __init__(self, **fields: Any) -> None: ...

class Runtime:
    def __init__(
        self, *, device: Optional[str] = None, on_log: Optional[Callable[[str, str], None]] = None, **options: Any
    ) -> None: ...
    def prepare(self, problem: Union[str, Problem], config: Optional[str] = None) -> Plan: ...
    def prewarm(
        self, problem: Union[str, Problem], arch: str, device_model: Optional[str] = None, config: Optional[str] = None
    ) -> int: ...
    def statistics(self) -> Dict[str, float]: ...
    def flush(self) -> None: ...
    def trim(self) -> None: ...

def set_device(device: str, /) -> None: ...
def prepare(problem: Union[str, Problem], config: Optional[str] = None) -> Plan: ...
def prewarm(
    problem: Union[str, Problem], arch: str, device_model: Optional[str] = None, config: Optional[str] = None
) -> int: ...
def statistics() -> Dict[str, float]: ...
def flush() -> None: ...
def trim() -> None: ...
def families() -> Dict[str, Dict[str, Any]]: ...
def problem_of(settings: str, tensors: Dict[str, Tuple[str, Tuple[int, ...], Tuple[int, ...]]], /) -> str: ...
def places(problem: Union[str, Problem], /) -> List[Dict[str, Any]]: ...
def fuse(
    program: str,
    scaling: Optional[str] = None,
    mode: Optional[str] = None,
    policy: Optional[str] = None,
    scale_layout: Optional[str] = None,
    save: Union[str, Sequence[str]] = (),
) -> Fused: ...
def sweep(path: str) -> Any: ...
def records(*words: str, path: Optional[str] = None) -> Any: ...
def bench(*problems: Union[str, Problem], device: Optional[str] = None, config: Optional[str] = None) -> Any: ...
'''

TYPES = {"extent": "int", "integer": "int", "real": "float", "dtype": "Any", "choice": "str", "list": "_Integers", "dtypes": "Any", "text": "str"}


def field_type(field):
    if field["kind"] == "choice":
        return "Literal[" + ", ".join(repr(choice) for choice in field["choices"]) + "]"
    return TYPES[field["kind"]]


def word(name, taken):
    return name + "_" if keyword.iskeyword(name) or name in taken else name


def fields(tables, taken):
    """The parameters that are fields and numbers, but for those that a tensor of the same name is given for."""
    rows = []
    for field in tables["fields"]:
        if field["kind"] == "dtype" and field["name"] in taken:
            continue
        rows.append(f"{word(field['name'], taken)}: Optional[{field_type(field)}] = None")
    return rows + [f"{number['name']}: Optional[float] = None" for number in tables["numbers"]]


def function(tables):
    kind = {True: "Optional[Sequence[Optional[Tensor]]]", False: "Optional[Tensor]"}
    inputs = [o for o in tables["operands"] if o["role"] == "input"]
    results = [o for o in tables["operands"] if o["role"] in ("output", "update")]
    taken = {o["name"] for o in inputs + results}
    rows = [f"{o['name']}: {kind[o['is_list']]} = None" for o in inputs] + ["*"]
    rows += [f"{o['name']}: {kind[o['is_list']]} = None" for o in results] + fields(tables, taken)
    rows += ["stream: _Stream = None", "runtime: Optional[Runtime] = None", "config: Optional[str] = None"]
    body = textwrap.indent(",\n".join(rows), "    ")
    return f"def {tables['name']}(\n{body},\n) -> Any:\n    \"\"\"{tables['sentence']}\"\"\"\n"


def problem(tables):
    rows = [f"{word(f['name'], ())}: {field_type(f)} = ..." for f in tables["fields"]]
    name = "".join(part.capitalize() for part in tables["name"].split("_"))
    body = textwrap.indent(",\n".join(["self", "*"] + rows), "        ")
    return f"class {name}(Problem):\n    def __init__(\n{body},\n    ) -> None: ...\n"


print(HEAD)
for each in quern.families().values():
    print(function(each))
    print(problem(each))
