// Calls every function of a library that is named on stdin, each in a process of its own, with nothing and
// with the address of empty memory for every argument, and prints what comes of it. What crashes, crashes
// there: that is an answer, too.
//
//   calls LIBRARY [FUNCTION TO CALL FIRST]
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRoom = 1 << 20, kLimitS = 5 };

// Of integers and pointers, x86-64 passes six in registers and the rest on the stack.
typedef int (*Function)(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*);

static int call(Function f, void* a) { return f(a, a, a, a, a, a, a, a, a, a, a, a); }

static int was_written(const char* room) {
    for (int i = 0; i < kRoom; i++)
        if (room[i] != 0) return 1;
    return 0;
}

static void in_child(Function function, char* room, const char* words) {
    alarm(kLimitS);
    const int result = call(function, words[0] == 'r' ? room : NULL);
    printf("%s %d%s\n", words, result, was_written(room) ? " wrote" : "");
    fflush(stdout);
    _exit(0);
}

static void try_call(const char* name, Function function, char* room, const char* words) {
    printf("%s ", name);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) in_child(function, room, words);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("%s signal %d\n", words, WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) printf("%s exit %d\n", words, WEXITSTATUS(status));
}

int main(int argc, char** argv) {
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) return fprintf(stderr, "%s\n", dlerror()) > 0;
    const struct rlimit no_cores = {0, 0};
    setrlimit(RLIMIT_CORE, &no_cores);
    // At one address in every run, so that what is read from it as a number is the same, too.
    char* room = mmap((void*)(1ull << 40), kRoom, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (room == MAP_FAILED) return 2;
    if (argc > 2) printf("first %s %d\n", argv[2], call((Function)dlsym(library, argv[2]), NULL));
    char name[256];
    while (scanf("%255s", name) == 1) {
        const Function function = (Function)dlsym(library, name);
        if (function == NULL) continue;
        try_call(name, function, room, "nothing");
        try_call(name, function, room, "room");
    }
    return 0;
}
