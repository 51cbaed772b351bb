#!/usr/bin/env python3
"""Programs of `pointwise expr="…"`: as functions of PyTorch's tensors, and drawn at random.

usage: programs.py [--draw N] [--seed N] [--norms]
  Prints N problems (default 60), a line each: one to four operands, which are full, rows, columns or single elements of
  drawn types, in formulas of two to six operations and activations over drawn shapes. `xargs -d '\\n' -I{} echo --problem {}`
  makes arguments of `quern bench` of them.
  --norms: softmax, RMS norm, layer norm and the gradients of RMS norm and of a bias before gelu, with results in bf16, in
  fp8 with a scale a row, and in MXFP8."""
import argparse
import ast
import random
import re

import torch
import torch.nn.functional as F

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn,
         "e5m2": torch.float8_e5m2}
KINDS = ("full", "row", "column", "scalar", "number")

# What a name of the language is in PyTorch; of others torch has the name itself.
FUNCTIONS = {
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
    "softplus": F.softplus, "hardswish": F.hardswish, "srelu": lambda x: torch.square(torch.relu(x)),
    "qgelu": lambda x, a=1.702: x * torch.sigmoid(a * x), "elu": lambda x, a=1.0: torch.where(x > 0, x, a * torch.expm1(x)),
    "leaky_relu": lambda x, a=0.01: torch.where(x > 0, x, a * x), "rint": torch.round, "identity": lambda x: x,
    "gelu_slope": lambda x: 0.5 * (1 + torch.erf(x * 0.5**0.5)) + x * torch.exp(-0.5 * x * x) * (2 * torch.pi) ** -0.5,
    "fma": lambda x, y, z: x * y + z, "clamp": torch.clamp, "min": torch.minimum,
}
REDUCTIONS = {"sum": "sum(-1, keepdim=True)", "mean": "mean(-1, keepdim=True)", "max": "amax(-1, keepdim=True)",
              "sum_rows": "sum(0)", "sum_all": "sum()"}


def _is_reduction(node):
    return isinstance(node, ast.Call) and node.func.id in REDUCTIONS and len(node.args) == 1


class _Torch(ast.NodeTransformer):
    """Python's tree of a formula, which has the language's operators, as one of PyTorch's tensors."""

    def visit_BoolOp(self, node):
        join = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        made, *others = map(self.visit, node.values)
        for other in others:
            made = ast.BinOp(made, join, other)
        return made

    def visit_UnaryOp(self, node):
        operand = self.visit(node.operand)
        return ast.UnaryOp(ast.Invert() if isinstance(node.op, ast.Not) else node.op, operand)

    def visit_Name(self, node):
        return ast.parse(f"float('{node.id}')", mode="eval").body if node.id in ("inf", "nan") else node

    def visit_Call(self, node):
        name, arguments = node.func.id, [ast.unparse(self.visit(argument)) for argument in node.args]
        if name in ("width", "rows"):
            made = name
        elif name == "round":
            made = f"({arguments[0]}).to(TYPES['{arguments[1]}']).float()"
        elif _is_reduction(node):
            made = f"torch.broadcast_to({arguments[0]}, (rows, width)).{REDUCTIONS[name]}"
        elif name in ("min", "max", "pow", "atan2"):  # of tensors alone
            function = {"min": "minimum", "max": "maximum"}.get(name, name)
            made = f"torch.{function}({', '.join(f'tensor({argument})' for argument in arguments)})"
        else:
            made = f"{name if name in FUNCTIONS else 'torch.' + name}({', '.join(arguments)})"
        return ast.parse(made, mode="eval").body


def declared(text):
    """The statements of a program in its canonical form, and {name: (type or "", kind or "")} of what it declares."""
    names, statements = {}, []
    for statement in text.split("; "):
        if match := re.fullmatch(r"(\w+):((?: \w+)*)", statement):
            words = match[2].split()
            names[match[1]] = tuple(next((word for word in words if word in known), "") for known in (TYPES, KINDS))
        else:
            statements.append(statement)
    return statements, names


def _reduces(tree, reducing):
    """Whether a reduction is in a formula, or in a local of it."""
    return any(_is_reduction(n) or (isinstance(n, ast.Name) and n.id in reducing) for n in ast.walk(tree))


def _shaped(value, kind, tree, reducing):
    """An output: full, or what a reduction makes."""
    if _is_reduction(tree) and tree.func.id.startswith("sum_"):
        return value
    if kind == "column" or (kind == "" and _reduces(tree, reducing)):
        return f"of_rows({value}, rows)"
    return f"torch.broadcast_to({value}, (rows, width))"


def _of_rows(value, rows):
    return value if value.dim() == 2 and value.shape[-1] != 1 else torch.broadcast_to(value, (rows, 1))[:, 0]


_MOST = {"e4m3": 448.0, "e5m2": 57344.0}
_BLOCKS = {"mx": 32, "block128": 128, "row": 0}


def _quantized(x, dtype, scaling, mode):
    """(elements, scales) of a matrix, as the fields of these names say."""
    rows, width = x.shape
    length = _BLOCKS[scaling] or max(width, 1)
    parts = F.pad(x, (0, -width % length)).reshape(rows, -1, length)
    scales = parts.abs().amax(-1, keepdim=True) / _MOST[dtype]
    if mode == "exact":
        factors = 1.0 / scales.clamp_min(2.0**-126)
    else:
        exponents = (scales.view(torch.int32) + 0x7FFFFF) >> 23  # rounded up to a power of two
        factors = ((254 - exponents) << 23).view(torch.float32)
        scales = exponents.to(torch.uint8).view(torch.float8_e8m0fnu) if scaling == "mx" else (exponents << 23).view(torch.float32)
    return (parts * factors).reshape(rows, -1)[:, :width].to(TYPES[dtype]), scales[..., 0]


def _stored(values, scaling, mode):
    """Outputs, of (numbers, type) each, then the scales of those that are quantized."""
    made, scales = [], []
    for numbers, dtype in values:
        if scaling != "none" and dtype in _MOST and numbers.dim() == 2:
            numbers, own = _quantized(numbers, dtype, scaling, mode)
            scales.append(own)
        made.append(numbers.to(TYPES[dtype]))
    return made + scales


def source_of(program, dtype="bf16"):
    """(inputs, source): the names that a program reads, and a Python function of them, `rows` and `width`, that returns its
    outputs. Arithmetic is fp32, as the language has it."""
    statements, names = declared(program)
    trees = [(s.split(" = ", 1)[0], ast.parse(s.replace("const ", "").split(" = ", 1)[1], mode="eval").body) for s in statements]
    words = [n for _, tree in trees for n in ast.walk(tree)]
    called = {id(n.func) for n in words if isinstance(n, ast.Call)} | {id(n.args[1]) for n in words
                                                                      if isinstance(n, ast.Call) and n.func.id == "round"}
    locals_ = {name.removeprefix("let ") for name, _ in trees if name.startswith("let ")}
    read = dict.fromkeys(n.id for n in words if isinstance(n, ast.Name) and id(n) not in called)
    inputs = [name for name in read if name not in locals_ and name not in ("inf", "nan")]
    lines = []
    for name in inputs:
        kind = names.get(name, ("", ""))[1]
        if kind != "number":
            lines.append(f"{name} = {name}.float(){'[:, None]' if kind == 'column' else ''}")
    outputs, reducing = [], set()
    for name, tree in trees:
        value = ast.unparse(_Torch().visit(ast.parse(ast.unparse(tree), mode="eval").body))
        if name.startswith("let "):
            local = name.removeprefix("let ")
            lines.append(f"{local} = {value}")
            reducing |= {local} if _reduces(tree, reducing) else set()
        else:
            own, kind = names.get(name, ("", ""))
            lines.append(f"out_{name} = {_shaped(f'tensor({value})', kind, tree, reducing)}")
            outputs.append(f"(out_{name}, '{own or dtype}')")
    body = "".join(f"    {line}\n" for line in [*lines, f"return stored([{', '.join(outputs)}])"])
    return inputs, f"def program({', '.join(inputs)}, *, rows, width):\n{body}"


def as_torch(program, dtype="bf16", scaling="none", mode="rceil"):
    """(inputs, function) of source_of; with a scaling the scales of what is quantized come after the outputs."""
    if scaling != "none" and mode not in ("rceil", "exact"):
        raise ValueError(f"mode={mode}")
    inputs, source = source_of(program, dtype)
    tensor = lambda value: value if isinstance(value, torch.Tensor) else torch.tensor(float(value))  # noqa: E731
    space = {**FUNCTIONS, "torch": torch, "TYPES": TYPES, "tensor": tensor, "of_rows": _of_rows,
             "stored": lambda values: _stored(values, scaling, mode)}
    exec(source, space)
    return inputs, space["program"]


# ---- Drawn programs

_ONE = ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "softplus", "abs", "square", "exp(-abs(", "sqrt(abs(")
_TWO = ("+", "-", "*", "*", "+", "min", "max")


def _formula(draw, names, operations):
    parts = list(names)
    for i in range(operations):
        if len(parts) > 1 and (i >= operations - len(parts) + 1 or draw.random() < 0.5):
            a, b = parts.pop(draw.randrange(len(parts))), parts.pop(draw.randrange(len(parts)))
            operator = draw.choice(_TWO)
            parts.append(f"{operator}({a}, {b})" if operator.isalpha() else f"({a} {operator} {b})")
        else:
            at, name = draw.randrange(len(parts)), draw.choice(_ONE)
            parts[at] = f"{name}{parts[at]}))" if name.endswith("(") else f"{name}({parts[at]})"
    while len(parts) > 1:
        parts = [f"({parts[0]} + {parts[1]})", *parts[2:]]
    return parts[0]


def drawn(seed, log2_of_elements=28):
    """One problem: a text."""
    draw = random.Random(seed)
    names = ["x", "y", "z", "u"][:draw.randint(1, 4)]
    declarations = []
    for name in names[1:]:
        kind, dtype = draw.choice(("full", "full", "row", "row", "column", "scalar")), draw.choice(("", "", "", "f32"))
        declarations.append(f"{name}: {dtype} {kind}; ".replace("  ", " "))
    step = draw.choice((64, 64, 8, 1))
    width = max(step, int(2 ** draw.uniform(6, log2_of_elements / 2)) // step * step)
    rows = max(1, int(2 ** draw.uniform(4, log2_of_elements - width.bit_length())))
    dtype = draw.choice(("bf16", "bf16", "f16", "f32"))
    formula = _formula(draw, names, draw.randint(2, 6))
    return f'pointwise rows={rows} width={width} dtype={dtype} expr="{"".join(declarations)}out = {formula}"'


# ---- Norms

_SHAPES = ((4096, 4096), (16384, 7168), (8192, 28672), (65536, 512))
_FORWARD = (
    "{0}let e = exp(x - max(x)); y = e / sum(e)",
    "w: row; {0}y = x * rsqrt(mean(x * x) + const 1e-06) * w",
    "w: row; b: row; {0}let c = x - mean(x); y = c * rsqrt(mean(c * c) + const 1e-05) * w + b",
)
_BACKWARD = (
    "w: row; dx: bf16; dw: f32; let r = rsqrt(mean(x * x) + const 1e-06); let s = x * r; let g = dy * w; "
    "dx = (g - s * mean(g * s)) * r; dw = sum_rows(dy * s)",
    "b: row; db: f32; let g = dy * gelu_slope(x + b); dx = g; db = sum_rows(g)",
)


def norms():
    """Problems: texts."""
    results = (("", ""), ("y: e4m3; ", " scaling=mx"), ("y: e4m3; ", " scaling=row mode=exact"))
    for rows, width in _SHAPES:
        for program in _FORWARD:
            for declaration, scaling in results:
                yield f'pointwise rows={rows} width={width}{scaling} expr="{program.format(declaration)}"'
        for program in _BACKWARD:
            yield f'pointwise rows={rows} width={width} expr="{program}"'


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--norms", action="store_true")
    given = parser.parse_args()
    for problem in norms() if given.norms else (drawn(given.seed * 1000 + number) for number in range(given.draw)):
        print(problem)
