// Calls what a preload exports although neither library is there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit");
    int (*start)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "ncclGroupStart");
    printf("cuInit %d ncclGroupStart %d\n", init != NULL ? init(0) : -1, start != NULL ? start() : -1);
    return 0;
}
