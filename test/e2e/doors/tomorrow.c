// A driver that is newer than anything known: its cuMemFree of version 14000 is not the export of that name.
static int newest(int value) { return value + 2; }
int cuMemFree_v2(int value);
int cuMemFree_v2(int value) { return value; }

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
    if (!same(symbol, "cuMemFree")) return 0;
    *status = 0;
    *address = version >= 14000 ? (void*)&newest : (void*)&cuMemFree_v2;
    return 0;
}
