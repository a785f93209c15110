"""Loading and namespaces."""
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import time

import box
import preload
from odd_places import public_libraries
from oracle import FULL
from row import C, FORK, SPAWN, NotTried, Row

L1 = Row("L1", "programs without CUDA inherit the preload")
L1.proven_by([C], "test_unrelated.Unrelated.test_they_do_not_notice",
             "test_unrelated.Unrelated.test_the_preload_was_there",
             "test_unrelated.Unrelated.test_it_loads_where_the_environment_is_empty",
             "test_unrelated.Unrelated.test_a_program_that_only_counts_devices_leaves_nothing")
L1.proven_by([FORK, SPAWN], "test_unrelated.Unrelated.test_they_do_not_notice")

L2 = Row("L2", "a missing library or symbol; replaced in place")
L2.proven_by([C], "check: shim_library", "test_checks_shim.Library.test_libraries_and_how_it_is_linked",
             "test_checks_shim.Library.test_a_newer_libc")


@L2.tried_on(C)
def replaced_by_rename(scene):
    """As `make install` does it: who has the old one mapped keeps it."""
    library = shutil.copy(preload.SHIM, scene.folder / "libgpushim.so")
    scene.out.mkdir()
    env = box.environment({**preload.variables(scene.out), **preload.QUICK, "LD_PRELOAD": library})
    with subprocess.Popen(scene.command("pauses", "100"), env=env, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as running:
        scene.assertEqual(running.stdout.readline(), "copied\n")
        pathlib.Path(f"{library}.new").write_bytes(b"another one")
        os.replace(f"{library}.new", library)
        scene.assertEqual(running.communicate("\n", timeout=60)[0], "copied again\n")
        scene.assertEqual(running.returncode, 0)
    scene.assertEqual((scene.ledger().dropped, scene.copies()), (0, 200))


L3 = Row("L3", "an old C++ library first on the path")
L3.proven_by([C], "check: shim_library")


@L3.tried_on(C)
def an_empty_one(scene):
    """Whoever needs a C++ library gets one without a single name in it. The shim does not."""
    old = scene.folder / "libstdc++.so.6"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", old,
                    "-Wl,-soname,libstdc++.so.6"], check=True)
    scene.same_command(["/bin/echo", "one"], traces=0, LD_LIBRARY_PATH=scene.folder)
    done = box.run([preload.ANALYZER, "--help"], {"LD_LIBRARY_PATH": scene.folder}, sim=False)
    scene.assertEqual((done.returncode, done.stderr), (0, ""))


L4 = Row("L4", "our symbols collide with others'")
L4.proven_by([C], "check: shim_library", "test_checks_shim.Library.test_exports")

L5 = Row("L5", "a 32-bit child")
# Ends with 5 by a system call: there may be a loader of 32 bits where there is no C library of them.
ENDS_WITH_5 = "void _start(void) { __asm__ volatile(\"int $0x80\" : : \"a\"(1), \"b\"(5)); }"


@L5.tried_on(C)
def the_loader_ignores_it(scene):
    loader = pathlib.Path("/lib/ld-linux.so.2")
    if not loader.exists():
        raise NotTried("ia32", str(loader))
    program = scene.folder / "small"
    compiled = subprocess.run(["gcc", "-m32", "-nostdlib", "-fpie", "-pie", "-x", "c", "-", "-o", program,
                               f"-Wl,-dynamic-linker,{loader}"], input=ENDS_WITH_5, text=True, check=False,
                              stderr=subprocess.PIPE)
    if compiled.returncode != 0:
        raise NotTried("ia32", "gcc -m32")
    done = box.run([program], {"LD_PRELOAD": preload.SHIM}, sim=False)
    scene.assertEqual(done.returncode, 5, "the loader's own line is all that happens")
    scene.assertIn("wrong ELF class", done.stderr)


L6 = Row("L6", "a static program, a setuid one")
L6.proven_by([C], "test_doctor.Doctor.test_what_would_not_be_seen")
NOBODY = 65534


@L6.tried_on(C)
def a_static_program(scene):
    program = scene.folder / "static"
    subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", program], text=True, check=True,
                   input="#include <stdio.h>\nint main(void) { puts(\"static\"); return 3; }")
    seen, _ = scene.same_command([program], traces=0)
    scene.assertEqual((seen.status, seen.stdout), (3, "static\n"))


@L6.tried_on(C)
def a_setuid_program_that_is_linked_to_us(scene):
    """ld.so takes no preload then, but what a program is linked to; AT_SECURE says what that means."""
    if os.geteuid() != 0:
        raise NotTried("root")
    place = public_libraries(scene)
    program = scene.small("opener.c", f"-L{place}", "-Wl,--no-as-needed", "-l:libgpushim.so",
                          "-Wl,--disable-new-dtags", f"-Wl,-rpath,{place}")
    scene.out.mkdir()
    scene.out.chmod(0o777)
    command, knobs = [program, "deepbind", 1], {"GPUSHIM_OUT": f"{scene.out}/trace.%p.db"}
    done = box.run(command, knobs, sim=False)
    scene.assertEqual((done.returncode, len(scene.traces())), (0, 1), "where it is not raised it records")
    scene.traces()[0].unlink()
    os.chown(program, NOBODY, NOBODY)
    program.chmod(0o6755)
    knobs["GPUSIM_BOX"] = f"{os.environ['GPUSIM_BOX']}.raised"  # root's may not be opened
    done = box.run(command, knobs, sim=False)
    scene.assertEqual((done.returncode, done.stdout, done.stderr), (0, "deepbind: 0\n", ""))
    scene.assertEqual(list(scene.out.iterdir()), [])


L7 = Row("L7", "RTLD_DEEPBIND, dlmopen, dlclose and dlopen again")
L7.proven_by([C], "test_doors.WaysIn.test_opened_by_a_library_that_nobody_else_sees",
             "test_doors.WaysIn.test_linked_to_a_library_that_nobody_else_sees")


@L7.tried_on(C)
def ways_of_opening(scene):
    opener = scene.small("opener.c")
    for words, copies in ((["deepbind", 1], 7), (["again", scene.pick(10, 1000)], None)):
        scene.same_command([opener, *words], traces=1)
        for trace in scene.traces():
            scene.assertEqual(scene.copies(), copies or 7 * words[1])
            trace.unlink()
    scene.same_command([opener, "namespace", 1], traces=0)


L8 = Row("L8", "the driver calls itself; NCCL calls the driver")
L8.proven_by([C], "test_doors.WaysIn.test_the_driver_calls_itself_through_exported_names",
             "test_nccl_traced.NcclTraced.test_a_group_is_one")

L9 = Row("L9", "look-ups of names and versions that nobody knows")
L9.proven_by([C], "test_doors.Newer.test_what_the_driver_gives_is_known_by_its_address",
             "test_unknown_abi.UnknownAbi.test_they_are_counted_and_told")


@L9.tried_on(C)
def random_names(scene):
    scene.same("names", scene.pick(50_000, 1_000_000), traces=0)


L10 = Row("L10", "a program under AddressSanitizer")
L10.proven_by([C], "test_hosts.Sanitizers.test_address")


def under_valgrind(scene):
    """Of the library's whole life memcheck has nothing to say. What the exit has no time for is recovered."""
    if shutil.which("valgrind") is None:
        raise NotTried("valgrind")
    scene.out.mkdir()
    env = box.environment({**preload.variables(scene.out), **preload.QUICK})
    shim = env.pop("LD_PRELOAD")
    words = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full",
             "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
             "--trace-children=yes", "env", f"LD_PRELOAD={shim}", *scene.command("pauses", "100")]
    with subprocess.Popen(list(map(str, words)), env=env, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        scene.assertEqual(running.stdout.readline(), "copied\n")
        until = time.monotonic() + 600
        while not recorded(scene.traces()) and time.monotonic() < until:
            time.sleep(1)
        out, said = running.communicate("\n", timeout=600)
    scene.assertEqual((running.returncode, out), (0, "copied again\n"), said)
    scene.assertEqual([line for line in said.splitlines() if "set address range perms" not in line], [])
    scene.assertEqual((scene.ledger().dropped, scene.copies()), (0, 200))


def recorded(traces):
    try:
        return traces and preload.query(traces[0], "SELECT 1 FROM copy LIMIT 1")
    except sqlite3.Error:
        return False


if FULL:  # it takes minutes
    L10.tried_on(C)(under_valgrind)

L11 = Row("L11", "ThreadSanitizer, jemalloc, faketime; look-ups of others")
L11.proven_by([C], "test_hosts.Sanitizers.test_thread",
              "test_hosts.Sanitizers.test_thread_knows_one_table_of_descriptors",
              "test_hosts.Sanitizers.test_thread_is_told_what_it_cannot_see",
              "test_hosts.Allocators.test_jemalloc_before_and_behind",
              "test_interposers.Interposers.test_what_other_libraries_find_behind_themselves")


@L11.tried_on(C)
def under_faketime(scene):
    """Another preload, which has its own idea of what clocks say."""
    found = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    scene.assertTrue(found, "scripts/deps installs libfaketime")
    for order in ([found[0], preload.SHIM], [preload.SHIM, found[0]]):
        scene.out.mkdir(exist_ok=True)
        knobs = {**preload.variables(scene.out), "LD_PRELOAD": ":".join(map(str, order)), "FAKETIME": "-15d"}
        done = box.run(scene.command("destructors"), {**preload.QUICK, **knobs}, cwd=scene.folder)
        scene.assertEqual(done.returncode, 0, done.stderr)
    scene.assertEqual((scene.ledger().dropped, scene.copies()), (0, 200))


L12 = Row("L12", "a huge or hostile environment")
L12.proven_by([C], "test_own_files.Output.test_a_value_that_means_nothing",
              "test_own_files.Output.test_a_pattern_that_means_nothing")
SIGNS = ["", "%n%n%s", "../../..", "/", "-1", "1e999", "nan", "0x10", "\x01\x7f", "\xff\xfe",
         "999999999999999999999", "1,2-", "%q{", "%q{PATH}", " 1", "1 ", "x" * 2000, "%p" * 5000,
         "9" * 100_000, "a=b," * 20_000]


def variables():
    """All that the shim reads, as its own table has them; not the switch that turns it off."""
    text = (box.ROOT / "shim" / "base" / "config.cpp").read_text(encoding="utf-8")
    return sorted(set(re.findall(r"GPUSHIM_[A-Z_]+", text)) - {"GPUSHIM_DISABLE"})


@L12.tried_on(C)
def values_that_mean_nothing(scene):
    """At most one line, and the program is what it was. Where the value is one after all, nothing is said."""
    chosen = random.Random(7)
    pairs = [(name, sign) for name in variables() for sign in SIGNS]
    scene.assertGreaterEqual(len(pairs), 300)
    alone = scene.seen(scene.command("destructors"), {})
    scene.out.mkdir()
    for name, sign in chosen.sample(pairs, scene.pick(40, len(pairs))):
        with scene.subTest(variable=name, value=sign[:20]):
            seen = scene.seen(scene.command("destructors"), {**preload.variables(scene.out), name: sign})
            lines = seen.stderr.splitlines(keepends=True)
            ours = [line for line in lines if line.startswith("gpushim: ")]
            scene.assertLessEqual(len(ours), 1, seen.stderr)
            scene.assertLessEqual(max(map(len, ours), default=0), 1100)
            rest = "".join(line for line in lines if line not in ours)
            scene.assertEqual((seen.status, seen.stdout, rest), (alone.status, alone.stdout, ""))


L13 = Row("L13", "the library is loaded twice")
L13.proven_by([C], "test_interposers.Interposers.test_two_copies_of_the_shim_record_once")


L14 = Row("L14", "another profiler plug-in of NCCL, and children of a process that NCCL told")
L14.proven_by([C], "test_nccl_view.NcclView.test_one_that_is_set",
              "test_nccl_view.NcclView.test_one_that_is_found_by_its_name",
              "test_nccl_view.NcclView.test_one_in_the_program",
              "test_nccl_view.NcclView.test_one_that_a_file_of_settings_names",
              "test_nccl_view.NcclView.test_a_child_of_a_traced_process_is_told_too",
              "test_nccl_view.NcclView.test_the_real_nccl_finds_others_as_without_us")

COPIES = """
#include <cuda.h>
#include <stdio.h>
int main(void) {
    CUcontext context;
    CUdeviceptr memory;
    char bytes[64] = {0};
    int failed = cuInit(0) || cuCtxCreate_v4(&context, 0, 0, 0) || cuMemAlloc_v2(&memory, 4096);
    for (int i = 0; i < 7 && !failed; ++i) failed = cuMemcpyHtoD_v2(memory, bytes, sizeof bytes);
    printf("%s\\n", failed ? "failed" : "copied");
    return failed;
}
"""


@L13.tried_on(C)
def preloaded_and_linked(scene):
    copy = scene.folder / "copy"
    copy.mkdir()
    shutil.copy(preload.SHIM, copy)
    program = preload.compiled(COPIES, scene.folder / "linked", f"-L{copy}", "-Wl,--no-as-needed",
                               "-l:libgpushim.so", f"-Wl,-rpath,{copy}")
    alone = preload.compiled(COPIES, scene.folder / "alone")
    scene.same_command([alone], traces=1)
    scene.traces()[0].unlink()
    scene.out.mkdir(exist_ok=True)
    done = box.run([program], {**preload.variables(scene.out), **preload.QUICK})
    scene.assertEqual((done.returncode, done.stdout, done.stderr), (0, "copied\n", ""))
    scene.assertEqual((len(scene.traces()), scene.copies()), (1, 7))
