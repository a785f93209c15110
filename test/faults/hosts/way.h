// A way in which the C host goes: host WAY [NUMBER [TEXT]]. A file declares its own with WAY(name) { … };
// each prints what it has done, so that runs with and without the shim can be compared. Plain C style: the
// fault is in the program, and what it does is to be seen.
#pragma once

#include <cuda.h>

struct Way {
    const char* name;
    void (*go)();
    Way* next;
    Way(const char* called, void (*does)());
};

#define WAY(name)                                    \
    static void way_##name();                        \
    static Way registered_##name(#name, way_##name); \
    static void way_##name()

extern char* host_program;  // argv[0]
extern int host_number;
extern const char* host_text;
extern CUcontext host_context;

void must(bool holds, const char* what);  // else says so and ends with 9
void open_gpu();                          // a context, and memory to copy to
void copy(int times);                     // in a thread that has the context
void* copy_seven(void*);                  // a thread that makes it current and copies
