"""quern's kernels under PyTorch's own names, for code that cannot be changed."""
import contextlib
from collections.abc import Iterator

import torch

from quern.torch.index import index_select


@contextlib.contextmanager
def patched_index_select(device: str = "cuda") -> Iterator[None]:
    """torch.index_select on a device runs quern's gather within this scope, in this whole process.

    Its gradient stays PyTorch's. What is compiled within the scope keeps what it was compiled with.
    """
    library = torch.library.Library("aten", "IMPL")
    library.impl("index_select", index_select, device.upper(), allow_override=True)
    try:
        yield
    finally:
        library._destroy()
