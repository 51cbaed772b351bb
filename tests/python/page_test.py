"""docs/python.md: every example that needs no PyTorch runs, and prints what the page says; the others compile. And the
notebook in examples, but for what draws."""
import contextlib
import io
import json
import pathlib
import re
import unittest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def blocks():
    """(code, what the page says is printed or None) of each example."""
    text = PAGE.read_text()
    for found in re.finditer(r"```python\n(.*?)```\n(?:\nIt prints:\n\n((?:    [^\n]*\n)+))?", text, re.S):
        printed = found.group(2)
        yield found.group(1), None if printed is None else re.sub(r"^    ", "", printed, flags=re.M)


class Page(unittest.TestCase):
    def test_examples(self):
        ran = 0
        for code, printed in blocks():
            compiled = compile(code, str(PAGE), "exec")
            if "torch" in code:
                continue
            ran += 1
            said = io.StringIO()
            with self.subTest(code.splitlines()[-1]), contextlib.redirect_stdout(said):
                exec(compiled, {})
            if printed is not None:
                self.assertEqual(said.getvalue(), printed)
        self.assertGreaterEqual(ran, 5)

    def test_the_refusal_is_the_pages(self):
        text = PAGE.read_text()
        code = next(code for code, _ in blocks() if "quern.Error" in code)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, str(PAGE), "exec"), {})
        self.assertIn(f"`{said.getvalue().strip()}`", text)

    def test_the_notebook(self):
        file = PAGE.parents[1] / "examples" / "python" / "measurements.ipynb"
        cells = ["".join(cell["source"]) for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
        names, said = {}, io.StringIO()
        with contextlib.redirect_stdout(said):
            for code in cells:
                compiled = compile(code, str(file), "exec")
                if "matplotlib" not in code:
                    exec(compiled, names)
        self.assertIn("% of a copy  gather ", said.getvalue())
        self.assertIn("gather rows=64 count=64 width=64 16896 bytes", said.getvalue())


if __name__ == "__main__":
    unittest.main()
