"""What the peers of several families share: element types, test data, and what a compiled function is."""
import torch

torch._dynamo.config.cache_size_limit = 512
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "u8": torch.uint8}
INDEX_TYPES = {"i64": torch.int64, "i32": torch.int32}


def random(kind, *shape):
    return torch.randint(0, 255, shape, dtype=kind, device="cuda") if kind is torch.uint8 else torch.randn(
        *shape, device="cuda").to(kind)


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, dynamic=False)
