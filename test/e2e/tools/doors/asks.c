// Asks the driver of tomorrow for three versions of one name, and calls each with 5.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    uint64_t (*hits)(const char*) = (uint64_t(*)(const char*))dlsym(RTLD_DEFAULT, "gpushim_hits");
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*get)(const char*, void**, int, unsigned long long, int*) =
        (int (*)(const char*, void**, int, unsigned long long, int*))dlsym(driver, "cuGetProcAddress_v2");
    if (hits != NULL) hits(NULL);
    for (int version = 14000; version >= 12000; version -= 1000) {
        void* found = NULL;
        int status = 0;
        if (get("cuMemFree", &found, version, 0, &status) != 0 || found == NULL) return 1;
        printf("%d: %d\n", version, ((int (*)(int))found)(5));
    }
    for (unsigned flags = 0; flags <= 2; flags += 2) {
        void* found = NULL;
        int status = 0;
        if (get("cuStreamQuery", &found, 12000, flags, &status) != 0 || found == NULL) return 1;
        for (unsigned i = 0; i <= flags; ++i)
            if (((int (*)(int))found)(5) != 0) return 1;
    }
    if (hits != NULL && getenv("HITS") != NULL) {
        FILE* file = fopen(getenv("HITS"), "w");
        fprintf(file,
                "cuMemFree %llu\ncuMemFree_v2 %llu\ncuStreamQuery %llu\ncuStreamQuery_ptsz %llu\nunknown_abi "
                "%llu\n",
                (unsigned long long)hits("cuMemFree"), (unsigned long long)hits("cuMemFree_v2"),
                (unsigned long long)hits("cuStreamQuery"), (unsigned long long)hits("cuStreamQuery_ptsz"),
                (unsigned long long)hits("unknown_abi"));
        fclose(file);
    }
    return 0;
}
