"""Security: what others may plant, read or learn, and what we add to what can be attacked."""
import contextlib
import multiprocessing
import os
import platform
import re
import shutil
import stat
import subprocess

import box
import cli
import made_traces
import preload
from odd_places import public_libraries
from oracle import C_HOST
from row import ALONE, C, NotTried, Row

S1 = Row("S1", "planted links and names in shared folders")
S1.proven_by([C], "test_own_files.Output.test_taken_names",
             "test_own_files.Tmpfs.test_a_folder_that_is_not_ours_alone")


AT_ONCE = 4
TRACES = ["trace.db", *(f"trace.{n}.db" for n in range(2, AT_ONCE + 2))]  # where that is taken


def plant(folder, victim, planted):
    """Puts links to a victim where files are about to be made, and takes them away again."""
    while True:
        for name in [f"trace.db{suffix}" for suffix in ("-wal", "-shm", "-journal")] + TRACES:
            # Theirs was there first, or they took ours away.
            with contextlib.suppress(FileExistsError, FileNotFoundError):
                (folder / name).symlink_to(victim)
                planted.value += 1
                (folder / name).unlink()


def take_away(scene, shared):
    """What was made; nobody else may read it."""
    for path in shared.iterdir():
        with contextlib.suppress(FileNotFoundError):  # the planter takes its links away meanwhile
            facts = path.lstat()
            if stat.S_ISREG(facts.st_mode):
                scene.assertEqual(stat.S_IMODE(facts.st_mode) & 0o077, 0, path)
                path.unlink()


@S1.tried_on(C)
def links_that_come_and_go(scene):
    """10,000 programs, four at once, in a folder that everybody may write to."""
    shared, victim = scene.folder / "shared", scene.folder / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.write_text("precious")
    planted = multiprocessing.Value("q", 0)
    planter = multiprocessing.Process(target=plant, args=(shared, victim, planted), daemon=True)
    planter.start()
    scene.addCleanup(planter.join)
    scene.addCleanup(planter.kill)
    env = box.environment({**preload.QUICK, "LD_PRELOAD": preload.SHIM, "GPUSHIM_OUT": shared / TRACES[0]})
    for _ in range(scene.pick(3, 10_000 // AT_ONCE)):
        running = [subprocess.Popen([C_HOST, "copies"], env=env, cwd=scene.folder, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True) for _ in range(AT_ONCE)]
        for program in running:
            said = program.communicate(timeout=60)[1]
            scene.assertEqual(program.returncode, 0, said)
        scene.assertEqual(victim.read_text(), "precious")
        take_away(scene, shared)
    scene.assertTrue(planter.is_alive())
    scene.assertGreater(planted.value, 0)


@S1.tried_on(ALONE)
def runs_beside_planted_links(scene):
    """The analyzer's own file has a name that nobody knows before."""
    victim = scene.folder / "victim"
    victim.write_text("precious")
    folder = scene.folder / "shared"
    made_traces.make_run(folder, 1)
    (folder / "gpushim.run.db").symlink_to(victim)
    done = box.run([preload.ANALYZER, "report", folder], sim=False)
    scene.assertEqual(done.returncode, 0, done.stderr)
    scene.assertEqual(victim.read_text(), "precious")


S2 = Row("S2", "traces that others can read")
S2.proven_by([C], "test_own_files.Output.test_the_file_is_the_users_alone")


@S2.tried_on(ALONE)
def runs_and_exports_are_the_users_alone(scene):
    folder = scene.folder / "traces"
    made_traces.make_run(folder, 1)
    before = os.umask(0)
    try:
        for words in (["report", folder], ["export", "chrome", folder, "-o", scene.folder / "out.json"]):
            done = box.run([preload.ANALYZER, *words], sim=False)
            scene.assertEqual(done.returncode, 0, done.stderr)
    finally:
        os.umask(before)
    for made in (folder / "gpushim.run.db", scene.folder / "out.json"):
        scene.assertEqual(stat.S_IMODE(made.stat().st_mode), 0o600, made)


S3 = Row("S3", "setuid, capabilities, AT_SECURE")


@S3.tried_on(C)
def a_program_that_has_more_rights_than_its_user(scene):
    """The loader drops a preload; where the program is linked to the library, that itself stays away."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise NotTried("root")
    place = public_libraries(scene)
    source = (box.ROOT / "test/e2e/tools/lifecycle/host.c").read_text(encoding="utf-8")
    program = preload.compiled(source, place / "host", f"-Wl,-rpath,{place}",
                               before=("-Wl,--no-as-needed", f"-L{place}", "-l:libgpushim.so"))
    traces = scene.folder / "out"
    traces.mkdir()
    traces.chmod(0o777)
    knobs = {"GPUSHIM_OUT": traces / "trace.%p.db", **preload.QUICK}
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    done = box.run([*nobody, program, "return"], knobs, sim=False, cwd="/")
    scene.assertEqual(done.returncode, 0, done.stderr)
    scene.assertEqual(len(list(traces.iterdir())), 1, "linked to it, it records")
    program.chmod(0o4755)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        raise NotTried("root", f"{program.parent} is mounted nosuid")
    for path in traces.iterdir():
        path.unlink()
    done = box.run([*nobody, program, "return"], knobs, sim=False, cwd="/")
    scene.assertEqual((done.returncode, done.stderr), (0, ""))
    scene.assertEqual(list(traces.iterdir()), [])


S4 = Row("S4", "new attack surface: network, signals, W^X, linking")
S4.proven_by([C], "check: shim_library",
             "test_lifecycle.Results.test_signal_handlers_and_mask_are_the_programs_own")

# What a traced program does that it does not do alone. Files, memory, time, one thread; no more.
SYSTEM_CALLS = set("""access clock_getres clock_gettime clock_nanosleep clone clone3 close
    close_range copy_file_range dup dup3 execve exit exit_group faccessat faccessat2 fadvise64
    fallocate fchmod fchown fcntl fdatasync flock fstat fstatfs fsync ftruncate futex getcwd
    getdents64 getegid geteuid getgid getpgid getpid getppid getpriority getrandom getrlimit
    getrusage gettid gettimeofday getuid ioctl kill lseek lstat madvise membarrier mkdir mkdirat
    mmap mprotect mremap munmap nanosleep newfstatat open openat poll pread64 prctl prlimit64
    pwrite64 read readlink readlinkat rename renameat rmdir rseq rt_sigprocmask sched_getaffinity
    sched_setscheduler sched_yield set_robust_list setpriority sigaltstack stat statfs statx sysinfo
    tgkill timer_create uname unlink unlinkat utimensat wait4 write""".split())


def calls_of(scene, name, command, knobs):
    """(names of system calls, lines) of a program and all of its threads."""
    lines = scene.folder / f"{name}.strace"
    done = box.run(["strace", "-f", "-qq", "-o", lines, *command], knobs, cwd=scene.folder)
    if done.returncode != 0 and "ptrace" in done.stderr:
        raise NotTried("strace", "ptrace is refused")
    scene.assertEqual(done.returncode, 0, done.stderr)
    text = lines.read_text(errors="replace").splitlines()
    return {match[1] for line in text if (match := re.match(r"\d+ +([a-z0-9_]+)\(", line))}, text


def under_strace(scene):
    if shutil.which("strace") is None:
        raise NotTried("strace")
    traces = scene.folder / "traces"
    traces.mkdir()
    knobs = {**preload.variables(traces), **preload.QUICK}
    preloaded = ["env", *(f"{name}={value}" for name, value in knobs.items()), C_HOST, "copies"]
    alone, _ = calls_of(scene, "alone", [C_HOST, "copies"], preload.QUICK)
    under, lines = calls_of(scene, "under", preloaded, preload.QUICK)
    scene.assertEqual(len(list(traces.glob("*.db"))), 1)
    return under - alone, lines


@S4.tried_on(C)
def nothing_but_files_memory_and_time(scene):
    more, lines = under_strace(scene)
    scene.assertEqual(more - SYSTEM_CALLS - {"rt_sigaction", "process_vm_readv"}, set())
    for line in lines:
        scene.assertNotRegex(line, r"\b(socket|connect|bind|listen|accept4?|ptrace|process_vm_writev)\(")
        # So we read our own memory where it may go meanwhile, and nobody else's.
        if "process_vm_readv(" in line:
            scene.assertIn(f"process_vm_readv({lines[0].split()[0]}, ", line)
        # The C library's own, with which threads change their user, comes with the first thread.
        scene.assertNotRegex(line, r"\brt_sigaction\((?!SIGRT_1, |[A-Z_0-9]+, NULL)")
        scene.assertNotRegex(line, r"\b(mmap|mprotect)\(.*PROT_WRITE\|PROT_EXEC")


def shown_of(file, *words):
    return subprocess.run([*words, file], stdout=subprocess.PIPE, text=True, check=True).stdout


@S4.tried_on(ALONE)
def programs_are_hardened(scene):
    for file, kind in ((preload.SHIM, "DYN"), (cli.GPUSHIM, r"DYN \(Position-Independent Executable")):
        shown = shown_of(file, "readelf", "-hdlW")
        scene.assertIn("GNU_RELRO", shown)
        scene.assertRegex(shown, r"FLAGS_1.*\bNOW\b")
        scene.assertRegex(shown, rf"Type: +{kind}")
        scene.assertRegex(shown, r"GNU_STACK.* RW ")
        scene.assertNotRegex(shown, r"LOAD .* RWE ")
        scene.assertNotIn("TEXTREL", shown)
        scene.assertNotRegex(shown, r"(RPATH|RUNPATH)")


@S4.tried_on(ALONE)
def our_code_guards_its_stack(scene):
    """What is linked to ours is built by others, with guards: each of our objects is asked, but the hooks.

    Most objects are several files, so more of them have a frame that wants guarding.
    """
    for folder, part in (("shim/*", 1 / 3), ("analysis/report", 2 / 3), ("analysis/trace", 2 / 3)):
        objects = [file for file in (box.BUILD / "obj").glob(f"{folder}/*.o")
                   if file.parent.name not in ("hooks", "calls")]
        wanted = [shown_of(file, "nm", "--undefined-only") for file in objects]
        guarded = sum("__stack_chk_fail" in names for names in wanted)
        scene.assertGreater(guarded, len(objects) * part, folder)


@S4.tried_on(ALONE)
def our_code_takes_jumps_only_where_it_expects_them(scene):
    """Whether a whole library says so is for all that it is made of: Debian's SQLite is not built for it."""
    if platform.machine() != "x86_64":
        raise NotTried("x86")
    objects = list((box.BUILD / "obj" / "shim").rglob("*.o"))
    scene.assertGreater(len(objects), 30)
    for file in objects:
        scene.assertRegex(shown_of(file, "readelf", "-nW"), "x86 feature: IBT, SHSTK", file)


@S4.tried_on(ALONE)
def nothing_is_read_from_the_working_directory(scene):
    """No settings, no libraries: what lies there with a name of ours changes nothing."""
    here = scene.folder / "here"
    here.mkdir()
    for name in ("libgpushim.so", "gpushim.conf", ".gpushimrc", "gpushim.json", ".gpushim", "libsqlite3.so"):
        (here / name).write_text("not for us")
    trace = scene.folder / "a.db"
    made_traces.make(trace)
    if shutil.which("strace") is None:
        raise NotTried("strace")
    done = box.run(["strace", "-f", "-qq", "-e", "trace=open,openat,execve", "-o", scene.folder / "opened",
                    preload.ANALYZER, "report", trace], sim=False, cwd=here)
    scene.assertEqual(done.returncode, 0, done.stderr)
    scene.assertNotIn(str(here), (scene.folder / "opened").read_text())
    relative = re.findall(r'openat\(AT_FDCWD, "(?!/)([^"]*)"', (scene.folder / "opened").read_text())
    scene.assertEqual(relative, [])


S5 = Row("S5", "reports that leak names")
S5.proven_by([ALONE], "test_run_report.RunReport.test_redacted",
             "test_hostile_files.HostileFiles.test_what_is_redacted_has_no_names_on_stderr")
