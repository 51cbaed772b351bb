"""What the tests of quern.torch share. They run on a GPU, or with QUERN_DEVICE=host on the CPU."""
import os
import unittest

import torch

import quern

ON_HOST = os.environ.get("QUERN_DEVICE") == "host"
DEVICE = "cpu" if ON_HOST else "cuda"


def rand(*shape, dtype=torch.float32, grad=False):
    return torch.randn(*shape, dtype=dtype, device=DEVICE).requires_grad_(grad)


def ints(values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype, device=DEVICE)


def routing_mask(tokens, experts, topk):
    mask = torch.zeros(tokens, experts, dtype=torch.bool)
    for row in mask:
        row[torch.randperm(experts)[:topk]] = True
    return mask.to(DEVICE)


class TorchTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def assertClose(self, got, expected, atol=1e-5):
        torch.testing.assert_close(got, expected, atol=atol, rtol=1e-5)

    def assertSameGradients(self, got, expected, inputs, atol=1e-5):
        """Values, and gradients from the same random gradient of each result."""
        got = got if isinstance(got, (tuple, list)) else (got,)
        expected = expected if isinstance(expected, (tuple, list)) else (expected,)
        for a, b in zip(got, expected):
            self.assertClose(a, b, atol)
        gradients = [torch.randn_like(b) for b in expected]
        for a, b in zip(torch.autograd.grad(got, inputs, gradients), torch.autograd.grad(expected, inputs, gradients)):
            self.assertClose(a, b, atol)


def main():
    print(f"quern {quern.__version__}, torch {torch.__version__}, {DEVICE}")
    unittest.main()
