"""A disk that is full, read-only or slow, for one folder of one process: a library before the program."""
import os
import subprocess
import time

import box
import cli
import made_traces

# The folder's files cannot be made (EROFS), cannot be written (ENOSPC), or are written once DISK_GO is there.
SOURCE = """
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int is_ours(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return strncmp(path, getenv("DISK_FOLDER"), strlen(getenv("DISK_FOLDER"))) == 0;
}
static int refuses(int file) {
    if (!is_ours(file)) return 0;
    if (getenv("DISK_GO") == 0) return errno = ENOSPC, 1;
    close(open(getenv("DISK_REACHED"), O_CREAT | O_WRONLY, 0600));
    while (access(getenv("DISK_GO"), F_OK) != 0) usleep(1000);
    return 0;
}
int mkostemp(char* name, int flags) {
    if (getenv("DISK_READ_ONLY") && !strncmp(name, getenv("DISK_FOLDER"), strlen(getenv("DISK_FOLDER"))))
        return errno = EROFS, -1;
    return ((int (*)(char*, int))dlsym(RTLD_NEXT, "mkostemp"))(name, flags);
}
int mkostemp64(char* name, int flags) { return mkostemp(name, flags); }
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
    if (refuses(file)) return -1;
    typedef ssize_t (*Next)(int, const void*, size_t, off64_t);
    return ((Next)dlsym(RTLD_NEXT, "pwrite64"))(file, bytes, size, at);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) { return pwrite64(file, bytes, size, at); }
ssize_t write(int file, const void* bytes, size_t size) {
    if (file > 2 && refuses(file)) return -1;
    return ((ssize_t (*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write"))(file, bytes, size);
}
"""


def library(place):
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", place, "-ldl"],
                   input=SOURCE, text=True, check=True)
    return place


class Case(cli.Case):
    """Temporary files go into a folder of the test's own, and a program can be stopped while it writes."""

    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        self.disk = library(self.folder / "disk.so")

    def around(self, folder, **more):
        """The environment of a program for which that folder's disk is special."""
        return box.environment({"LD_PRELOAD": self.disk, "DISK_FOLDER": folder, "TMPDIR": self.temporary,
                                **more}, sim=False)

    def stopped(self, words, folder, **options):
        """gpushim, waiting in its first write to a file in that folder; `go` lets it go on."""
        reached = self.folder / "reached"
        reached.unlink(missing_ok=True)
        self.go = self.folder / "go"
        env = self.around(folder, DISK_GO=self.go, DISK_REACHED=reached)
        program = subprocess.Popen([str(word) for word in (cli.GPUSHIM, *words)], env=env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(program.stderr.close)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        while not reached.exists():
            self.assertIsNone(program.poll(), "it ended before it wrote")
            time.sleep(0.005)
        return program

    def make_run(self, folder, ranks):
        """Traces as processes leave them that have ended: none needs a file beside it to be read."""
        made_traces.make_run(folder, ranks)
        for trace in folder.glob("*.db"):
            made_traces.closed(trace)

    def listed(self, folder):
        return sorted(os.listdir(folder))
