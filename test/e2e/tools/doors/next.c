// A library that wraps a function of libc by RTLD_NEXT (WRAPPER), and a program that calls it and looks
// around.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef WRAPPER
int getpagesize(void) {
    int (*real)(void) = (int (*)(void))dlsym(RTLD_NEXT, "getpagesize");
    if (real == NULL || real == &getpagesize) return -1;
    printf("wrapped, then the original\n");
    return real();
}
#else
int main(void) {
    printf("%d\n", getpagesize());
    printf("%d\n", dlsym(RTLD_DEFAULT, "getpagesize") == (void*)&getpagesize);
    // Two versions of one name stay apart.
    void* old = dlvsym(RTLD_NEXT, "realpath", "GLIBC_2.2.5");
    void* new = dlvsym(RTLD_NEXT, "realpath", "GLIBC_2.3");
    printf("%d\n", old != NULL && new != NULL&& old != new);
    printf("%d\n", dlsym(RTLD_NEXT, "no_such_name") == NULL);
    printf("%s\n", dlerror());
    printf("%d\n", dlsym(dlopen("libm.so.6", RTLD_NOW), "no_such_name") == NULL);
    printf("%s\n", dlerror());
    return 0;
}
#endif
