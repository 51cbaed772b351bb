"""The examples in examples/python, whose main functions compare with eager PyTorch."""
import pathlib
import sys

from support import TorchTest, main

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "python"))
import fusion  # noqa: E402
import llama_block  # noqa: E402
import measure  # noqa: E402
import moe_layer  # noqa: E402


class Examples(TorchTest):
    def test_moe_layer(self):
        moe_layer.main()

    def test_llama_block(self):
        llama_block.main()

    def test_fusion(self):
        fusion.main()

    def test_measure(self):
        measure.main(small=True)


if __name__ == "__main__":
    main()
