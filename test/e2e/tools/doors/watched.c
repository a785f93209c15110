// A program that looks at the library's threads as ThreadSanitizer's library would: it has the names by which
// that is known, and prints how many threads of the library it may not judge, and how many have a table of
// descriptors of their own.
//
//   WATCHES: 0: it has none of the names  1: only the first, as another language's race detector  2: all
#define _GNU_SOURCE
#include <cuda.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NUMBER 777  // of a descriptor that only the program's table has
#define LOOKS 500

static atomic_int reads_ignored, writes_ignored;

#if WATCHES > 0
void __tsan_init(void);
void __tsan_init(void) {}
#endif
#if WATCHES > 1
#define COUNTS(function, count, by)          \
    void function(const char* at, int line); \
    void function(const char* at, int line) { (void)at, (void)line, count += by; }
COUNTS(AnnotateIgnoreReadsBegin, reads_ignored, 1)
COUNTS(AnnotateIgnoreReadsEnd, reads_ignored, -1)
COUNTS(AnnotateIgnoreWritesBegin, writes_ignored, 1)
COUNTS(AnnotateIgnoreWritesEnd, writes_ignored, -1)
#endif

static void must(int well, const char* what) {
    if (well) return;
    perror(what);
    exit(1);
}

static int is_of_the_library(const char* task) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task);
    FILE* file = fopen(path, "r");
    if (file == NULL) return 0;
    must(fgets(name, sizeof name, file) != NULL, path);
    fclose(file);
    return strncmp(name, "gpushim", 7) == 0;
}

static void look(int* threads, int* apart) {
    DIR* tasks = opendir("/proc/self/task");
    *threads = *apart = 0;
    must(tasks != NULL, "/proc/self/task");
    for (struct dirent* task; (task = readdir(tasks)) != NULL;) {
        char path[300];
        if (task->d_name[0] == '.' || !is_of_the_library(task->d_name)) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/fd/%d", task->d_name, NUMBER);
        ++*threads;
        *apart += access(path, F_OK) != 0;
    }
    closedir(tasks);
}

int main(void) {
    CUdevice device;
    CUcontext context;
    int threads = 0, apart = 0;
    must(cuInit(0) == 0 && cuDeviceGet(&device, 0) == 0, "device");
    must(cuDevicePrimaryCtxRetain(&context, device) == 0, "context");
    must(dup2(open("/dev/null", O_RDONLY), NUMBER) == NUMBER, "dup2");
    // Threads start when they can.
    for (int i = 0; i < LOOKS; ++i) {
        look(&threads, &apart);
        if (threads == 3 && (WATCHES < 2 || reads_ignored == threads)) break;
        usleep(10000);
    }
    printf("%d threads, %d apart, %d and %d not judged\n", threads, apart, reads_ignored, writes_ignored);
    return 0;
}
