// Writes down what a library asks for: every name that it looks up in a library by dlsym, and every question
// to cuGetProcAddress_v2, with the outcome. Preloaded before the shim or alone; LOOKUPS is where it writes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*GetProcAddress)(const char*, void**, int, unsigned long long, int*);

static void* (*real_dlsym)(void*, const char*);
static GetProcAddress real_get;

static const char* owner(void* address) {
    Dl_info info;
    if (address == NULL) return "nothing";
    if (dladdr(address, &info) == 0) return "somewhere";
    return strstr(info.dli_fname, "libgpushim") != NULL ? "shim" : "driver";
}

static void write_row(const char* text) {
    FILE* rows = fopen(getenv("LOOKUPS"), "a");
    fprintf(rows, "%s\n", text);
    fclose(rows);
}

static int asked(const char* name, void** address, int version, unsigned long long flags, int* status) {
    char row[256];
    const int result = real_get(name, address, version, flags, status);
    snprintf(row, sizeof row, "ask %s %d %llu -> %d %d %s", name, version, flags, result,
             status != NULL ? *status : -1, owner(*address));
    write_row(row);
    // The runtime goes on asking through the form of 12.0 that it is given here.
    if (result == 0 && version >= 12000 && strcmp(name, "cuGetProcAddress") == 0) {
        real_get = (GetProcAddress)*address;
        *address = (void*)&asked;
    }
    return result;
}

void* dlsym(void* handle, const char* name) {
    if (real_dlsym == NULL)
        real_dlsym = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void* found = real_dlsym(handle, name);
    if (name[0] != 'c' || name[1] != 'u' || handle == RTLD_NEXT || handle == RTLD_DEFAULT) return found;
    char row[256];
    snprintf(row, sizeof row, "dlsym %s -> %s", name, owner(found));
    write_row(row);
    if (strcmp(name, "cuGetProcAddress_v2") != 0 || found == NULL) return found;
    real_get = (GetProcAddress)found;
    return (void*)&asked;
}
