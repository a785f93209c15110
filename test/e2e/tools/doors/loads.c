// A program that knows nothing of CUDA and opens a library that does.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
    if (count < 2) return 2;
    void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return printf("%s\n", dlerror()), 1;
    int (*work)(void) = (int (*)(void))dlsym(library, "work");
    return work != NULL ? work() : 1;
}
