// A driver library that only writes down what it is asked for. It answers every look-up with a function that
// refuses to work, so the runtime that opened it gives up as soon as its look-ups are done.
// Rows go to the file named by LOOKUPS, one "name version flags" per line. One thread, one run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kNotSupported = 801, kSymbolNotFound = 500, kFound = 0, kNotFound = 1, kVersion = 99000 };

// Runtimes of 13.5 ask first how new the driver is: newer than whatever they know.
int cuDriverGetVersion(int* version) {
    *version = kVersion;
    return 0;
}

static int refuse(void) { return kNotSupported; }

static void write_row(const char* name, int version, unsigned long long flags) {
    FILE* rows = fopen(getenv("LOOKUPS"), "a");
    fprintf(rows, "%s %d %llu\n", name, version, flags);
    fclose(rows);
}

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                        int* status) {
    const int known = name[0] != '\0';
    // The runtime goes on asking through the form of 12.0 that it is given here.
    const int is_self = strcmp(name, "cuGetProcAddress") == 0 && version >= 12000;
    write_row(name, version, flags);
    *function = is_self ? (void*)&cuGetProcAddress_v2 : known ? (void*)&refuse : NULL;
    if (status) *status = known ? kFound : kNotFound;
    return known ? 0 : kSymbolNotFound;
}
