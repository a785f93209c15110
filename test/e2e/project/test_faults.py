"""The catalogue of faults (test/faults): each function of it on each kind of host as a test of its own, in
its quick form, and the catalogue as a whole."""
import os
import re
import subprocess
import sys
import unittest

import box
import folders
import optional

FOLDER = box.ROOT / "test" / "faults"
sys.path.insert(0, str(FOLDER))
import catalogue  # noqa: E402
from oracle import Scene  # noqa: E402
from row import HOSTS, ROWS, NotTried  # noqa: E402


class Faults(Scene):
    pass


def method_of(proof):
    def method(scene):
        scene.host = proof.host
        try:
            proof.function(scene)
        except NotTried as reason:
            scene.skipTest(str(reason))
    method.__doc__ = f"{proof.key} on {proof.host}: {ROWS[proof.key].fault}"
    return method


for _row in ROWS.values():
    for _proof in _row.functions:
        setattr(Faults, _proof.method, method_of(_proof))


class Catalogue(unittest.TestCase):
    def test_every_row_is_there(self):
        self.assertEqual(catalogue.missing(), ([], []))

    def test_every_row_has_a_proof_or_a_reason(self):
        self.assertEqual([key for key, row in ROWS.items() if not any(row.cells.values())], [])

    def test_what_is_named_is_there(self):
        """A test that is renamed would leave a row with nothing behind it."""
        there = set(self.end_to_end()) | set(self.unit()) | set(self.checks())
        named = {proof for row in ROWS.values() for host in HOSTS for proof in row.cells[host]
                 if not isinstance(proof, NotTried)}
        self.assertEqual(sorted(named - there), [])

    def test_every_protection_names_a_row(self):
        text = (box.ROOT / "shim" / "base" / "protections.def").read_text(encoding="utf-8")
        rows = re.findall(r"^PROTECTION\(\w+, (\w+), ", text, re.MULTILINE)
        self.assertGreaterEqual(len(rows), 20)
        self.assertEqual([row for row in rows if row not in ROWS], [])

    @staticmethod
    def end_to_end():
        def flat(suite):
            for entry in suite:
                yield from flat(entry) if isinstance(entry, unittest.TestSuite) else [entry.id()]
        loader = unittest.TestLoader()
        return flat(loader.discover(place, top_level_dir=place) for place in folders.of_tests())

    @staticmethod
    def unit():
        listing = subprocess.run([box.BUILD / "test" / "unit", "--list-test-names-only"], text=True,
                                 env=box.environment(), stdout=subprocess.PIPE, check=False).stdout
        return [f"unit: {case}" for case in filter(None, listing.splitlines())]

    @staticmethod
    def checks():
        return [f"check: {path.name}" for path in (box.ROOT / "test" / "check").iterdir()
                if os.access(path, os.X_OK)]


@unittest.skipUnless(box.BUILD == box.ROOT / "build", optional.lacks("plain_build"))
class Mutants(unittest.TestCase):
    """That a protection is missed where it is missing; `make mutants` tries all of them."""

    def mutants(self, *names):
        return subprocess.run([FOLDER / "mutants", *names], env=box.environment(), text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_one_is_caught(self):
        done = self.mutants("private_files")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"private_files +S2 .*test_the_file_is_the_users_alone\n")
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed")

    def test_an_unknown_one_fails(self):
        self.assertNotEqual(self.mutants("no_such_thing").returncode, 0)
