"""The preload reaches every program: those without CUDA print, return and leave what they do without it."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import box
import preload

# What is compared runs in a shell, so the shell and all its children are under the preload, too.
PROGRAMS = {
    "true": "true",
    "false": "false",
    "echo": "echo one two; echo three >&2",
    "ls": "touch b a c; ls -A1; ls /nowhere",
    "cat": "seq 1000 >numbers; cat numbers numbers; cat <numbers >copy",
    "sort": "seq 2000 -1 1 | sort -n | sort -R --random-source=/usr/bin/env | sort -u | wc -lc",
    "cut": "printf 'a:b\\nc:d\\n' | cut -d: -f2 | paste -sd, -; printf 'x y' | tr ' ' '\\n'",
    "copy and move": "mkdir -p d/e; echo x >d/e/f; cp -r d g; mv g/e h; ln -s h/f link; ln h/f hard; rm -r d;"
                     "ls -R",
    "dd": "dd if=/dev/zero bs=4096 count=64 status=none | tee zeros | sha256sum",
    "tail of a closed pipe": "seq 1000000 | head -3; echo ${PIPESTATUS[@]}",
    "find": "mkdir -p a/b/c; touch a/1 a/b/2; find a -type f -print0 | sort -z | xargs -0 -n1 basename",
    "grep": "grep -c include /usr/include/stdio.h; grep nothing /dev/null",
    "sed": "seq 20 | sed -n '5,7s/^/line /p'",
    "awk": "seq 100 | awk '{ s += $1 } END { print s > \"sum\"; exit 3 }'",
    "tar": "mkdir t; seq 9 >t/n; tar --mtime=@0 --owner=0 --group=0 -cf t.tar t; tar -tf t.tar; md5sum t.tar",
    "gzip": "seq 5000 | gzip -n >n.gz; gunzip -c n.gz | md5sum",
    "diff": "seq 5 >a; seq 2 7 >b; diff a b; cmp a b",
    "expr": "expr 6 '*' 7; test 1 -gt 2 || printf '%05d\\n' 42; date -u -d @0; id -u; basename /a/b.c .c",
    "substitution": "x=$(hostname -f 2>/dev/null | wc -l); echo \"$x\"; y=`echo inner`; echo $y; exit 7",
    "background jobs": "for i in 1 2 3; do (sleep 0.0$i; echo $i >job$i) & done; wait; cat job*",
    "here-document": "cat <<EOT\nlines\nof text\nEOT\nread -r line </etc/debian_version; echo ${#line}",
    "ended by a signal": "sh -c 'kill -TERM $$'; echo $?; (sh -c 'kill -SEGV $$'; echo $?) 2>/dev/null",
    "timeout": "timeout 0.1 sleep 9; echo $?",
    "exec": "exec bash -c 'exec -a other env true && echo replaced'",
    "git": "git init -q r; cd r; git config user.email a@b; git config user.name n; seq 50 >f; git add f;"
           "GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000' git commit -qm one; git log --format=%H;"
           "seq 51 >f; git diff --stat; git diff --exit-code >/dev/null; x=$?; rm .git/index; exit $x",
    "gcc": "printf 'int main(void) { return 5; }' >m.c; gcc -c m.c && gcc -o m m.o; ./m; echo $?; md5sum m",
    "g++": "printf '#include <iostream>\\nint main() { std::cout << \"hi\\\\n\"; throw 1; }' >m.cpp;"
           "g++ -o m m.cpp; ./m 2>&1 | head -2",
    "make": "printf 'all: a b\\na b:\\n\\techo $@ >$@\\n' >Makefile; make -sj2; cat a b",
    "sqlite3": "sqlite3 base 'create table t(a); insert into t values (1), (2); select sum(a) from t'",
    "perl": "perl -e 'print join(\",\", map { $_ * 2 } 1..5), \"\\n\"; exit 4'",
    "python3": "python3 -c 'import sys, json; print(json.dumps(list(range(9)))); sys.exit(\"an error\")'",
    "python3 with sqlite3": "python3 -c 'import sqlite3; b = sqlite3.connect(\"b\")\n"
                            "b.execute(\"create table t(a)\"); b.commit(); print(sqlite3.sqlite_version)'",
    "python3 with threads": "python3 -c 'from concurrent.futures import *\n"
                            "print(sum(ThreadPoolExecutor(8).map(abs, range(1000))))'",
    "python3 with processes": "printf 'import multiprocessing as m\\nif __name__ == \"__main__\":\\n"
                              " for how in (\"fork\", \"spawn\", \"forkserver\"):\\n"
                              "  with m.get_context(how).Pool(2) as p: print(how, p.map(abs, range(5)))\\n'"
                              " >p.py; python3 p.py",
    "what it has": "ls /proc/self/fd | wc -l; ls /proc/self/task | wc -l; grep Sig /proc/self/status",
}

COUNTS_DEVICES = {
    "linked": """
        #include <cuda.h>
        #include <stdio.h>
        int main(void) {
            int count = -1;
            printf("%d", cuInit(0));
            printf(" %d", cuDeviceGetCount(&count));
            printf(" %d\\n", count);
            return 0;
        }""",
    "by dlopen": """
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void) {
            int count = -1;
            void* driver = dlopen("libcuda.so.1", RTLD_NOW);
            if (!driver) return 1;
            printf("%d", ((int (*)(unsigned))dlsym(driver, "cuInit"))(0));
            printf(" %d", ((int (*)(int*))dlsym(driver, "cuDeviceGetCount"))(&count));
            printf(" %d\\n", count);
            return 0;
        }""",
}


class Unrelated(unittest.TestCase):
    def setUp(self):
        above = pathlib.Path(tempfile.mkdtemp(prefix="gpushim-test-"))
        self.addCleanup(shutil.rmtree, above, ignore_errors=True)
        self.folder = above / "here"  # the same path for both runs: some print it

    def run_in_fresh_folder(self, command, knobs, sim=False):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        done = box.run(command, knobs, sim=sim, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr, preload.tree(self.folder)

    def check_same(self, command, **how):
        rings = preload.ring_files()
        without = self.run_in_fresh_folder(command, {}, **how)
        under = self.run_in_fresh_folder(command, {"LD_PRELOAD": preload.SHIM}, **how)
        self.assertEqual(under, without)
        self.assertEqual([ring for ring in preload.ring_files() if ring not in rings and ".db" in ring], [])
        return under

    def test_they_do_not_notice(self):
        self.assertGreaterEqual(len(PROGRAMS), 30)
        for name, script in PROGRAMS.items():
            with self.subTest(program=name):
                self.check_same(["bash", "-c", script])

    def test_the_preload_was_there(self):
        """Or the comparison above is of two runs without it."""
        found = box.run(["cat", "/proc/self/maps"], {"LD_PRELOAD": preload.SHIM}, sim=False).stdout
        self.assertIn(str(preload.SHIM), found)

    def test_a_program_that_only_counts_devices_leaves_nothing(self):
        for name, source in COUNTS_DEVICES.items():
            with self.subTest(program=name), tempfile.TemporaryDirectory(prefix="gpushim-test-") as folder:
                program = preload.compiled(source, f"{folder}/count")
                code, output, errors, files = self.check_same([program], sim=True)
                self.assertEqual((code, output, errors, files), (0, "0 0 1\n", "", {}))

    def test_it_loads_where_the_environment_is_empty(self):
        command = ["env", "-i", f"LD_PRELOAD={preload.SHIM}", "/bin/true"]
        done = subprocess.run(command, text=True, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
