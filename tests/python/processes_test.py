"""What needs a process of its own: forks, subinterpreters, the end of the interpreter, and first uses."""
from support import *  # noqa: F403
import tempfile

USE = """
import numpy as np, os, sys, threading
import quern
quern.set_device("host")
x, index, out = np.arange(12, dtype="f4").reshape(3, 4), np.array([2, 0]), np.zeros((2, 4), "f4")
"""


class Ending(Case):
    def check(self, text, expected="", **environment):
        code, out, err = run_program(USE + text, **environment)
        self.assertEqual((code, out), (0, expected), err)
        return err

    def test_right_after_prepare(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check('quern.prepare("gather width=4 dtype=f32")', QUERN_CACHE_DIR=folder)
            self.check('print({i["origin"] for i in quern.prepare("gather width=4 dtype=f32").images})',
                       "{'disk'}\n", QUERN_CACHE_DIR=folder)

    def test_with_all_kept(self):
        self.check("""
plan = quern.prepare("gather width=4 dtype=f32")
runtime = quern.Runtime(device="host")
other = runtime.prepare("gather width=4 dtype=f32")
kept = quern.gather(x, index)
sys.modules["kept"] = plan, runtime, other
""")

    def test_with_a_log(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check("""
runtime = quern.Runtime(device="host", log="debug", on_log=lambda level, line: None)
plan = runtime.prepare("gather width=4 dtype=f32")
""", QUERN_CACHE_DIR=folder)

    def test_with_threads(self):
        self.check("""
def work():
    while True:
        quern.gather(x, index)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
import time
time.sleep(0.3)
""")

    def test_by_os_exit_and_exception(self):
        code, _, err = run_program(USE + 'quern.prepare("gather width=4 dtype=f32")\nraise SystemExit(7)')
        self.assertEqual(code, 7, err)

    def test_in_an_exit_handler(self):
        self.check("""
import atexit
atexit.register(lambda: print(quern.gather(x, index)[0, 0]))
""", "8.0\n")

    def test_import_again(self):
        self.check("""
old = quern
for name in [n for n in sys.modules if n.split(".")[0] == "quern"]:
    del sys.modules[name]
import quern as new
print(new is old, (new.gather(x, index) == x[index]).all())
try:
    new.prepare("nothing")
except new.Error as error:
    print(error.code, isinstance(error, old.Error))
""", "False True\nbad_input True\n")


class Forks(Case):
    def check(self, child, expected):
        """What a forked child prints; the parent works on."""
        code, out, err = run_program(f"""{USE}
plan = quern.prepare("gather width=4 dtype=f32")
plan.launch(x, index, out)
quern.gather(x, index)
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    try:
        {child}
    except quern.Error as error:
        print("Error", error.code)
    except BaseException as error:
        print("other", repr(error))
    sys.stdout.flush()
    os._exit(0)
status = os.waitpid(pid, 0)[1]
quern.gather(x, index, out=out)
print(status, (out == x[index]).all())
""")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, expected, err)
        self.assertTrue(out.endswith("0 True\n"), out)

    def test_launch(self):
        self.check("plan.launch(x, index, out)", "^Error [a-z_]+\n")

    def test_function(self):
        self.check("quern.gather(x, index)", "^Error [a-z_]+\n")

    def test_prepare(self):
        self.check('quern.Runtime(device="host").prepare("gather width=16").launch(x, index, out)', "^Error [a-z_]+\n")

    def test_the_error_says_that_the_process_was_forked(self):
        for call in ("plan.launch(x, index, out)", "quern.gather(x, index)"):
            self.check(f"""try:
            {call}
        except quern.Error as error:
            print(error.code, "forked after quern was used" in error.sentence, error.sentence in str(error), "spawn" in str(error))
            raise""", "^driver True True True\nError driver\n")

    def test_what_needs_no_device(self):
        self.check('print(plan.problem, len(quern.families()), len(quern.places("gather")))', "^gather width=4")

    def test_end_of_the_child(self):
        code, out, err = run_program(f"""{USE}
quern.gather(x, index)
pid = os.fork()
if pid == 0:
    sys.exit(3)  # with exit handlers
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""")
        self.assertEqual((code, out), (0, "3\n"), err)

    def test_before_first_use(self):
        """A child of a process that has not used quern yet."""
        code, out, err = run_program(f"""{USE.replace('quern.set_device("host")', '')}
pid = os.fork()
if pid == 0:
    quern.set_device("host")
    os._exit(0 if (quern.gather(x, index) == x[index]).all() else 1)
print(os.waitpid(pid, 0)[1])
""")
        self.assertEqual((code, out), (0, "0\n"), err)


class Interpreters(Case):
    def test_subinterpreter(self):
        code, out, err = run_program("""
import quern
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
made = interpreters.create()
text = '''
import sys
try:
    import quern
except ImportError as error:
    print("refused:", error)
    sys.stdout.flush()
'''
interpreters.run_string(made, text) if hasattr(interpreters, "run_string") else interpreters.exec(made, text)
interpreters.destroy(made)
print(len(quern.families()) > 0)
""")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"^refused: .*(subinterpreter)")
        self.assertTrue(out.endswith("True\n"), out)

    def test_no_driver(self):
        """Without set_device and without a GPU."""
        code, out, err = run_program("""
import numpy as np, quern
x = np.zeros((3, 4), "f4")
for call in (lambda: quern.gather(x, np.array([1])), lambda: quern.prepare("gather width=4")):
    try:
        call()
    except quern.Error as error:
        hint = '; for the CPU: quern.set_device("host"), Runtime(device="host") or QUERN_DEVICE=host'
        print(error.code, error.sentence.endswith(hint), hint in str(error))
""", QUERN_LIBCUDA="/nowhere/libcuda.so.1", QUERN_DEVICE="cuda")
        self.assertEqual((code, out), (0, "no_driver True True\nno_driver False False\n"), err)

    def test_device_of_the_environment(self):
        code, out, err = run_program("""
import numpy as np, quern
print(quern.gather(np.arange(12, dtype="f4").reshape(3, 4), np.array([1])))
""", QUERN_DEVICE="host")
        self.assertEqual((code, out), (0, "[[4. 5. 6. 7.]]\n"), err)

    def test_bits_without_ml_dtypes(self):
        """Results of types that NumPy lacks are bits then."""
        code, out, err = run_program("""
import numpy as np, quern
quern.set_device("host")
print([y.dtype.name for y in quern.mxfp8(np.ones((2, 32), "f4"))])
import ml_dtypes
print([y.dtype.name for y in quern.mxfp8(np.ones((2, 32), "f4"))])
""")
        self.assertEqual((code, out), (0, "['uint8', 'uint8']\n['float8_e4m3fn', 'float8_e8m0fnu']\n"), err)

    def test_command(self):
        done = subprocess.run([sys.executable, "-c", "import quern; print(quern.__version__)"], capture_output=True,
                              text=True, timeout=60)
        self.assertRegex(done.stdout, r"^\d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
