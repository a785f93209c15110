"""Running what rows name: end-to-end tests, unit cases and checks, each in a process group and a box of its
own as test/run does it."""
import importlib.machinery
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load_runner():
    """test/run, which is a program. It reads its limits from the environment now."""
    loader = importlib.machinery.SourceFileLoader("test_run", str(ROOT / "test" / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_run", loader))
    loader.exec_module(module)
    return module


def tests_by_name(runner):
    """What proofs are named by -> how to run it."""
    tests = {test.name.replace("e2e: ", ""): test
             for test in [*runner.unit_tests(), *runner.end_to_end_tests()]}
    for rule in (ROOT / "test" / "check").iterdir():
        name = f"check: {rule.name}"
        tests[name] = runner.Test(name, [str(rule.parent / "run")], rule.name, ROOT)
    return tests
