"""What the peers of several families share: element types, test data, fields, and what a compiled function is."""
import torch
import triton

torch._dynamo.config.cache_size_limit = 512
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "u8": torch.uint8}
# Of rows that move as bits.
MOVED_TYPES = dict(TYPES, e4m3=torch.uint8, e5m2=torch.uint8)
INDEX_TYPES = {"i64": torch.int64, "i32": torch.int32}
# Elements that share a scale, and its type.
SCALINGS = {"block128": (128, torch.float32), "mx": (32, torch.uint8)}


def random(kind, *shape):
    return torch.randint(0, 255, shape, dtype=kind, device="cuda") if kind is torch.uint8 else torch.randn(
        *shape, device="cuda").to(kind)


def scale_shape(scaling, hidden):
    """Scales of a row, 0 without any, and their type."""
    if scaling == "none":
        return 0, torch.uint8
    if scaling == "row":
        return 1, torch.float32
    length, kind = SCALINGS[scaling]
    return -(-hidden // length), kind


def only_pass(fields):
    """The pass, which Python has no name for, of the fields that a function has not taken; the others have no peer."""
    unknown = [f"{name}={value}" for name, value in fields.items() if name != "pass"]
    if unknown:
        raise ValueError(" ".join(unknown))
    return fields.get("pass", "forward")


def row_block(width, most=4096):
    """Elements of a step through a row in a Triton kernel."""
    return min(most, triton.next_power_of_2(max(1, width)))


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, dynamic=False)
