"""While threads launch without a pause: forks, spawns, signals, closed descriptors. Nobody hangs, nothing is
lost."""

import preload

THREADS, LAUNCHES = 3, 30_000
HEAD = f"""
#include "one_gpu.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static CUfunction function;
static volatile int begun, over;
enum {{ THREADS = {THREADS} }};
static pthread_t thread[THREADS];
static void* launches(void* unused) {{
    MUST(cuCtxSetCurrent(context));
    while (!begun) usleep(100);
    for (int i = 0; i < {LAUNCHES}; ++i) launch_one(function, 0);
    __atomic_fetch_add(&over, 1, __ATOMIC_SEQ_CST);
    return unused;
}}
static void meanwhile(int round);
int main(void) {{
    int rounds = 0;
    alarm(60);
    open_gpu();
    function = kernel_of("kernel__100ns");
    for (int i = 0; i < THREADS; ++i) pthread_create(&thread[i], 0, launches, 0);
    /* Threads that are quick are not to be over before the first. */
    for (; over < THREADS || rounds < 50; begun = 1) meanwhile(rounds++);
    for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], 0);
    return puts("done"), cuCtxSynchronize();
}}
"""

FORKS = """
static void meanwhile(int round) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        free(malloc(100000));
        /* The driver refuses: it does not live on in a fork. */
        if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0) == CUDA_SUCCESS) _exit(7);
        round % 2 ? _exit(3) : exit(3);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3) exit(6);
}
"""

SPAWNS = """
extern char** environ;
static void meanwhile(int round) {
    int status = 0;
    pid_t child = 0;
    char* words[] = {"true", 0};
    if (posix_spawn(&child, "/bin/true", 0, 0, words, environ)) exit(5);
    if (waitpid(child, &status, 0) != child || status) exit(6);
    (void)round;
}
"""

# Signals that arrive wherever a launch just is.
SIGNALS = """
static volatile int handled;
static void handler(int number) {
    int before = errno;
    (void)number;
    ++handled;
    errno = before;
}
static void meanwhile(int round) {
    if (round == 0) signal(SIGUSR1, handler);
    for (int i = 0; i < THREADS; ++i)
        if (!over) pthread_kill(thread[i], SIGUSR1);
    usleep(50);
    if (round == 49 && handled == 0) exit(6);
}
"""

# A daemon's habit: closes all there may be, then opens files and writes to them.
DESCRIPTORS = """
static void meanwhile(int round) {
    char name[32], text[64], read_back[64] = "";
    for (int i = 3; i < 64; ++i) close(i);
    snprintf(name, sizeof name, "mine.%d", round % 8);
    snprintf(text, sizeof text, "round %d", round);
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) exit(5);
    usleep(2000);
    if (pread(file, read_back, sizeof read_back - 1, 0) < 0 || strcmp(text, read_back)) exit(6);
}
"""


class Busy(preload.PreloadCase):
    def check(self, meanwhile):
        program = preload.compiled(HEAD + meanwhile, self.folder / "program")
        done = self.traced([program], **preload.QUICK)
        self.assertEqual(done.stdout, "done\n")
        terms = preload.ledger(self.the_trace())
        self.assertEqual((terms["unknown"], terms["unfinished"]), (0, 0), terms)
        seen = preload.launches(self.the_trace())["kernel__100ns"]
        self.assertGreaterEqual(seen, THREADS * LAUNCHES - terms["dropped"], terms)
        self.assertLessEqual(seen, THREADS * LAUNCHES)
        if terms["dropped"] == 0:
            self.assertEqual(seen, THREADS * LAUNCHES)

    def test_forks(self):
        self.check(FORKS)

    def test_spawns(self):
        self.check(SPAWNS)

    def test_signals(self):
        self.check(SIGNALS)

    def test_descriptors(self):
        self.check(DESCRIPTORS)
        for file in self.folder.glob("mine.*"):
            self.assertRegex(file.read_bytes(), rb"\Around \d+\Z")
