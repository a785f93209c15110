"""test/includes on a small tree: which files it finds that do not include all that they use."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import box

TREE = {
    "shim/words.h": "#pragma once\n#include <string>\nstd::string word();\n",
    "shim/words.cpp": '#include "words.h"\nstd::string word() { return "word"; }\n',
    "shim/list.cpp": '#include "words.h"\n#include <vector>\n'
                     'std::vector<std::string> list() { return {word()}; }\n',
    "analysis/plain.cpp": "int plain() { return 1; }\n",
}


class Includes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-includes-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in TREE.items():
            self.write(name, text)
        self.write("test/includes", "")
        shutil.copy(box.ROOT / "test" / "includes", self.root / "test")

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def lacking(self):
        """The files it names, of which there are as many as it counts."""
        env = {**os.environ, "COMPILE": "g++ -std=c++20 -I."}
        done = subprocess.run([str(self.root / "test" / "includes")], env=env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = done.stdout.splitlines()
        named = {line.split()[1] for line in lines if line.startswith("FAILED")}
        files = sum(1 for kind in ("*.h", "*.cpp") for _ in self.root.rglob(kind))
        self.assertEqual(lines[-1], f"{files - len(named)} passed, {len(named)} failed", done.stderr)
        self.assertEqual(done.returncode, 1 if named else 0)
        return named

    def test_a_tree_that_includes_what_it_uses_passes(self):
        self.assertEqual(self.lacking(), set())

    def test_a_file_that_lacks_an_include_is_named(self):
        self.write("analysis/lacks.cpp", '#include "shim/words.h"\nstd::vector<std::string> lacks();\n')
        self.assertEqual(self.lacking(), {"analysis/lacks.cpp"})

    def test_a_header_is_not_saved_by_what_its_includers_include_before_it(self):
        self.write("shim/lacks.h", "#pragma once\nstd::string lacks();\n")
        self.write("shim/lucky.cpp", '#include "words.h"\n#include "lacks.h"\n')
        self.assertEqual(self.lacking(), {"shim/lacks.h"})

    def test_nor_by_what_they_include_behind_it(self):
        """The source file is compiled with no more than what its header includes."""
        self.write("shim/lacks.h", "#pragma once\nstd::string lacks();\n")
        self.write("shim/lacks.cpp", '#include "lacks.h"\n#include <string>\n')
        self.assertEqual(self.lacking(), {"shim/lacks.cpp"})

    def test_what_only_some_configurations_include_is_in_no_set(self):
        self.write("analysis/lacks.cpp",
                   "#ifdef NEVER\n#include <vector>\n#endif\nstd::vector<int> lacks();\n")
        self.assertEqual(self.lacking(), {"analysis/lacks.cpp"})
