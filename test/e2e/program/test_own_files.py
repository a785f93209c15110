"""Files of a traced program and ours: its descriptors are its own, the trace is where it was asked for, and
rings are where there is room."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

import box
import in_memory
import optional
import own_shm
import preload
from lifecycle_case import COPIES, LifecycleCase


class Descriptors(LifecycleCase):
    def test_a_program_that_closes_everything(self):
        """D8: our descriptors are not the program's: neither closed by it nor written to as its files."""
        self.same("closes")
        for path in self.folder.glob("host.*"):
            self.assertEqual(path.read_bytes(), b"mine")
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), 21 * COPIES)

    def test_who_waits_for_its_output_to_end_does_not_wait_for_us(self):
        env = box.environment({**preload.variables(self.folder), **preload.QUICK})
        with subprocess.Popen([self.host(), "silent", "3000"], env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder) as program:
            self.assertEqual(program.stdout.read(), b"copied\n")
            self.assertIsNone(program.poll(), "its output ended only with the program")
            self.assertEqual(program.wait(30), 0)
        self.assertEqual(self.copies(), 2 * COPIES)


class NewRings(preload.PreloadCase):
    """A thread that has no ring yet makes one, with a descriptor of the program's table for that moment."""
    PROGRAM = """
    #include "one_gpu.h"
    #include <pthread.h>
    static CUfunction function;
    static pthread_barrier_t all;
    static void* launches(void* unused) {
        MUST(cuCtxSetCurrent(context));
        for (int i = 0; i < 10; ++i) launch_one(function, 0);
        pthread_barrier_wait(&all);  /* none leaves its ring to another */
        return unused;
    }
    int main(void) {
        pthread_t thread[8];
        pthread_barrier_init(&all, 0, 8);
        open_gpu();
        function = kernel_of("kernel__100ns");
        for (int i = 0; i < 8; ++i) pthread_create(&thread[i], 0, launches, 0);
        for (int i = 0; i < 8; ++i) pthread_join(thread[i], 0);
        return 0;
    }
    """
    # The program closes the number of each thread's new ring and has a file of its own under it at once. None
    # is made for later, so each thread makes its own.
    TAKING = """
    #include <dlfcn.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/prctl.h>
    #include <sys/stat.h>
    #include <sys/syscall.h>
    #define syscall of_libc  // whose declaration has no number of words
    #include <unistd.h>
    #undef syscall
    static struct { int number; ino_t file; } mine[64];
    static int taken;
    static void take(int number) {
        struct stat facts;
        char name[32];
        const int nth = __atomic_fetch_add(&taken, 1, __ATOMIC_SEQ_CST);
        snprintf(name, sizeof name, "mine.%d", nth);
        const int file = open(name, O_RDWR | O_CREAT, 0600);
        dup2(file, number);
        close(file);
        if (write(number, "mine", 4) != 4 || fstat(number, &facts)) _exit(70);
        mine[nth].file = facts.st_ino;
        mine[nth].number = number;
    }
    long syscall(long number, long a, long b, long c, long d, long e, long f) {
        static __thread int calls;
        long (*const next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
        const char* const ring = number == SYS_openat ? strstr((const char*)b, "/ring-") : 0;
        char name[16] = "";
        if (!ring) return next(number, a, b, c, d, e, f);
        prctl(PR_GET_NAME, name);
        const int is_ours = !strncmp(name, "gpushim", 7);
        if (is_ours && strcmp(ring, "/ring-0") && strcmp(ring, "/ring-1")) return errno = ENOSPC, -1;
        const long got = next(number, a, b, c, d, e, f);
        if (!is_ours && got >= 0 && calls++ == 0) take(got);
        return got;
    }
    __attribute__((destructor)) static void look(void) {
        struct stat facts;
        for (int i = 0; i < taken; ++i)
            if (fstat(mine[i].number, &facts) || facts.st_ino != mine[i].file) _exit(71);
        printf("taken: %d\\n", taken);
        fflush(stdout);
    }
    """

    def test_what_the_program_has_under_their_number_is_left_alone(self):
        program = preload.compiled(self.PROGRAM, self.folder / "program")
        taking = preload.compiled(self.TAKING, self.folder / "taking.so", "-shared", "-fPIC")
        done = self.traced([program], **preload.QUICK, LD_PRELOAD=f"{preload.SHIM}:{taking}")
        self.assertEqual(done.stdout, "taken: 8\n")
        self.assertEqual([path.read_bytes() for path in self.folder.glob("mine.*")], [b"mine"] * 8)
        self.assertEqual(preload.launches(self.the_trace())["kernel__100ns"], 80)
        self.assertEqual(preload.ledger(self.the_trace())["dropped"], 0)


class SharedDescriptors(LifecycleCase):
    """Where the kernel gives the writer no table of its own."""
    in_memory = False
    REFUSING = """
    #include <dlfcn.h>
    #include <errno.h>
    #include <sys/syscall.h>
    #ifndef SYS_close_range  // headers before Linux 5.9
    #define SYS_close_range 436
    #endif
    int unshare(int what) { return (void)what, errno = EPERM, -1; }
    long syscall(long number, long a, long b, long c, long d, long e, long f) {
        if (number == SYS_close_range && c != 0) return errno = EPERM, -1;
        return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a, b, c, d, e, f);
    }
    """

    def refusing(self, more=""):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpushim-host-"))
        self.addCleanup(shutil.rmtree, folder)
        library = preload.compiled(self.REFUSING + more, folder / "refusing.so", "-shared", "-fPIC")
        return {"LD_PRELOAD": f"{preload.SHIM}:{library}", "GPUSHIM_OUT": f"{self.folder}/trace.%p.db"}

    def within(self, moment):
        return self.WITHIN.replace("MOMENT", str(moment))

    def spoiled(self):
        return [path.name for path in self.folder.glob("host.*") if path.read_bytes() != b"mine"]

    def refused(self, *words, more=""):
        return self.same(*words, **self.refusing(more))

    def test_all_is_well_while_nobody_closes_them(self):
        self.refused("return")
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), COPIES)

    def test_all_is_well_when_the_main_thread_ends_first(self):
        """Here a log that is made anew has another inode."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="test-gpushim-", dir=in_memory.MEMORY))
        self.addCleanup(shutil.rmtree, self.folder)
        self.refused("pthread_exit")
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), 2 * COPIES)

    def test_not_a_byte_in_the_programs_files(self):
        done = self.refused("closes", "400")
        for path in self.folder.glob("host.*"):
            self.assertEqual(path.read_bytes(), b"mine")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("closed the files", done.stderr)
        self.recover()
        self.assertEqual(self.copies(), 21 * COPIES, "the rings had room for what came afterwards")
        self.assertEqual(preload.ledger(self.the_trace())["dropped"], 0)

    # Calls what it was given once, in the midst of a transaction: as that write to the log begins or ends.
    WITHIN = """
    #include <dlfcn.h>
    #include <stdatomic.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/types.h>
    ssize_t readlink(const char*, char*, size_t);
    void (*_Atomic within_a_write)(void);
    ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
        typedef ssize_t (*Next)(int, const void*, size_t, off64_t);
        static int calls;
        ssize_t written;
        char link[64], path[4096] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        const int is_read = within_a_write && readlink(link, path, sizeof path - 1) > 0;
        const int counts = is_read && strstr(path, "-wal");
        if (counts && ++calls == MOMENT) atomic_exchange(&within_a_write, 0)();
        written = ((Next)dlsym(RTLD_NEXT, "pwrite64"))(file, bytes, size, offset);
        if (counts && ++calls == MOMENT) atomic_exchange(&within_a_write, 0)();
        return written;
    }
    """

    def test_not_a_byte_in_the_middle_of_a_transaction(self):
        """Nor is what was in it lost."""
        for moment in (1, 2, 3, 4, 11, 12):
            with self.subTest(moment=moment):
                for path in self.folder.iterdir():
                    path.unlink()
                done = self.refused("closes_within_a_write", "100", more=self.within(moment))
                self.assertEqual(done.stdout, "copied\ntaken: 1\n")
                self.assertEqual(self.spoiled(), [])
                self.recover()
                ledger = preload.ledger(self.the_trace())
                self.assertEqual(self.copies(), 41 * COPIES, f"{ledger}\n{done.stderr}")
                self.assertEqual(ledger["dropped"], 0)

    def test_not_a_byte_where_numbers_are_few(self):
        """Here ours are taken. What the rings could not hold until the files were open again is counted."""
        few = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]
        done = box.run([*few, self.host(), "closes_within_a_write", preload.MORE_THAN_RINGS_HOLD // 40],
                       {**preload.QUICK, **self.refusing(preload.SMALL_TMPFS + self.within(2))},
                       cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, "copied\ntaken: 1\n"), done.stderr)
        self.assertEqual(self.spoiled(), [])
        self.recover()
        lost = preload.query(self.the_trace(), "SELECT coalesce(sum(events), 0) FROM v_drop")[0][0]
        self.assertEqual(self.copies() + lost, COPIES + preload.MORE_THAN_RINGS_HOLD)

    def test_not_a_byte_at_the_end_either(self):
        """Everything was in the trace, and nothing comes any more."""
        for way in ("closes_at_the_end", "closes_and_leaves_a_thread"):
            with self.subTest(way=way):
                for _ in range(5):  # on a busy machine it may be over before it is seen
                    for path in self.folder.iterdir():
                        path.unlink()
                    done = self.refused(way, "2500")
                    files = list(self.folder.glob("host.*"))
                    self.assertEqual({path.read_bytes() for path in files}, {b"mine"})
                    if done.stderr:
                        break
                self.assertIn("closed the files", done.stderr)
                self.recover()
                self.assertEqual(self.copies(), COPIES)

    def test_what_the_rings_cannot_hold_then_is_counted_with_its_reason(self):
        """A program that got no processor for long makes no more than its rings hold: it runs once more."""
        for _ in range(5):
            lost = self.lost_while_closed(preload.MORE_THAN_RINGS_HOLD)
            if lost:
                break
        self.assertEqual(list(lost), ["writer_down"])

    def lost_while_closed(self, copies):
        """Reason -> events. Together with what is in the trace they are all that there were."""
        for path in self.folder.iterdir():
            path.unlink()
        done = box.run([box.BUILD / "faults" / "host", "closes", copies],
                       {**preload.QUICK, **self.refusing(preload.SMALL_TMPFS)}, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, f"{copies} copies\n"), done.stderr)
        self.recover()
        lost = dict(preload.query(self.the_trace(), "SELECT reason, events FROM v_drop"))
        self.assertEqual(self.copies() + sum(lost.values()), 100 + 10 + copies)
        self.assertEqual(preload.ledger(self.the_trace())["unknown"], 0)
        return lost


class BesideOtherCommands(SharedDescriptors):
    """Any command takes in what dead processes left. Who has closed the file of our lock is not dead."""

    def setUp(self):
        super().setUp()
        own_shm.take()
        self.over, self.failed, self.done = threading.Event(), [], 0
        others = threading.Thread(target=self.take_in)
        others.start()
        self.addCleanup(lambda: self.assertEqual(self.failed, []))
        self.addCleanup(lambda: self.assertGreater(self.done, 1))
        self.addCleanup(others.join)
        self.addCleanup(self.over.set)

    def take_in(self):
        while not self.over.is_set():
            done = box.run([preload.ANALYZER, "help", "report"], {"GPUSHIM_RECOVER": "all"})
            self.done += 1
            if done.returncode != 0:
                self.failed.append((done.returncode, done.stderr))


class Output(LifecycleCase):
    def one_warning(self, done, *words):
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        for word in ("gpushim", *words):
            self.assertIn(word, lines[0])

    def test_a_folder_that_cannot_be_made(self):
        done = self.same("return", GPUSHIM_OUT="/proc/nowhere/all.db")
        self.one_warning(done, "/proc/nowhere/all.db", "not tracing")
        self.assert_no_rings_left()

    def test_a_pattern_that_means_nothing(self):
        self.one_warning(self.same("return", GPUSHIM_OUT=f"{self.folder}/%z.db"), "%z")

    def test_a_value_that_means_nothing(self):
        done = self.same("return", GPUSHIM_MAX_MB="plenty")
        self.one_warning(done, "GPUSHIM_MAX_MB=plenty", "default")
        self.assertEqual(self.copies(), COPIES)
        self.assertEqual(self.same("return", GPUSHIM_MAX_MB="plenty", GPUSHIM_LOG="error").stderr, "")

    def test_fields_of_the_name(self):
        pattern = f"{self.folder}/%h-%r-%l-%j-%q{{WHO}}-%%.db"
        self.same("return", GPUSHIM_OUT=pattern, RANK=7, LOCAL_RANK=3, SLURM_JOB_ID=42, WHO="../me")
        expected = f"{os.uname().nodename}-7-3-42-.._me-%.db"
        self.assertEqual([path.name for path in self.folder.iterdir()], [expected])

    def test_the_file_is_the_users_alone(self):
        before = os.umask(0)
        try:
            self.same("return")
        finally:
            os.umask(before)
        self.assertEqual(self.the_trace().stat().st_mode & 0o777, 0o600)

    def test_taken_names(self):
        """Never overwritten; a link is a taken name, wherever it leads."""
        out = self.folder / "trace.taken.db"
        victim = self.folder / "victim"
        out.write_text("precious")
        victim.write_text("precious")
        (self.folder / "trace.taken.2.db").symlink_to(victim)
        (self.folder / "trace.taken.3.db").symlink_to("nothing")
        self.same("return", GPUSHIM_OUT=out)
        self.assertEqual(self.copies(self.folder / "trace.taken.4.db"), COPIES)
        self.assertEqual([out.read_text(), victim.read_text()], ["precious"] * 2)
        self.assertFalse((self.folder / "nothing").exists())
        for number in range(5, 100):
            (self.folder / f"trace.taken.{number}.db").touch()
        self.one_warning(self.same("return", GPUSHIM_OUT=out), "not tracing")
        self.assertFalse((self.folder / "trace.taken.100.db").exists())


@unittest.skipUnless(optional.may_mount(), optional.lacks("namespaces"))
class Tmpfs(LifecycleCase):
    in_memory = False

    def test_full(self):
        """D1: no room for a ring costs events, which are counted, and nothing else."""
        folder = f"/dev/shm/gpushim-{os.geteuid()}"
        self.traced_on(f"mount -t tmpfs none /dev/shm && mkdir -m 700 {folder} && "
                       f"mount -t tmpfs -o size=40k,mode=700 none {folder}")
        terms = preload.ledger(self.the_trace())
        self.assertEqual((terms["recorded"], terms["unknown"]), (0, 0), terms)
        self.assertGreaterEqual(terms["dropped"], COPIES, terms)

    def traced_on(self, mount):
        command = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$0" return', self.host()]
        done = box.run(command, {**preload.variables(self.folder), **preload.QUICK}, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "copied\n", ""))

    def mounted(self, mount):
        self.traced_on(mount)
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), COPIES)
        return preload.query(self.the_trace(), "SELECT value FROM meta WHERE key = 'rings_survive'")[0][0]

    def test_small(self):
        self.assertEqual(self.mounted("mount -t tmpfs -o size=64m none /dev/shm"), 0)

    def test_large_enough(self):
        self.assertEqual(self.mounted("mount -t tmpfs -o size=300m none /dev/shm"), 1)

    def test_a_folder_that_is_not_ours_alone(self):
        """S1: others could put links into it."""
        folder = f"/dev/shm/gpushim-{os.geteuid()}"
        self.assertEqual(self.mounted(f"mount -t tmpfs none /dev/shm && mkdir -m 777 {folder}"), 0)

    def test_none(self):
        self.assertEqual(self.mounted(f"mount --bind {self.folder} /dev/shm"), 0)
