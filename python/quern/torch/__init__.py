"""PyTorch operators: torch.ops.quern.*, and functions with the names and semantics that models already use."""
from quern.torch import _ops, _autograd  # noqa: F401: register the operators and their gradients
