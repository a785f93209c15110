// A driver that is newer than anything known: its cuMemFree of version 14000 is not the export of that name.
static int newest(int value) { return value + 2; }
int cuMemFree_v2(int value);
int cuMemFree_v2(int value) { return value; }
int cuMemFree(int value);
int cuMemFree(int value) { return value * 10; }

// One function under two names, as a driver may have them.
int cuStreamQuery(int value);
int cuStreamQuery(int value) { return value - 5; }
extern __typeof__(cuStreamQuery) cuStreamQuery_ptsz __attribute__((alias("cuStreamQuery")));

static int same(const char* a, const char* b) {
    while (*a != 0 && *a == *b) ++a, ++b;
    return *a == *b;
}

int cuGetProcAddress_v2(const char* symbol, void** address, int version, unsigned long long flags,
                        int* status);
int cuGetProcAddress_v2(const char* symbol, void** address, int version, unsigned long long flags,
                        int* status) {
    (void)flags;
    *address = 0;
    *status = 1;
    if (same(symbol, "cuStreamQuery")) return *status = 0, *address = (void*)&cuStreamQuery, 0;
    if (!same(symbol, "cuMemFree")) return 0;
    *status = 0;
    // Not what the rules for versions say: the first form for a version that has the second.
    *address = version >= 14000   ? (void*)&newest
               : version >= 13000 ? (void*)&cuMemFree_v2
                                  : (void*)&cuMemFree;
    return 0;
}
