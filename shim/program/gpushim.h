// Marks that a program may set for gpushim; for C (99) and C++ (11). They do nothing in a process that has no
// libgpushim.so: the library is asked for by name, once for each source file, and never linked. Any thread.
//
//     gpushim_step();            a step begins, and the one before ends
//     gpushim_step_n(64);        the same, and it has so many samples
//     gpushim_mark("warm-up");   a text at this time; at most 1024 bytes of it are kept
//     gpushim_range_push("forward");   a range of this thread, in those that are open on it: what the thread
//     gpushim_range_pop();             launches until it ends belongs to it
//     uint64_t range = gpushim_range_start("load");   a range by itself, which
//     gpushim_range_end(range);                       this thread or another may end
//
// -DGPUSHIM_NO_MARKS leaves them out.
#pragma once

#include <stdint.h>

#ifdef GPUSHIM_NO_MARKS

static inline void gpushim_step(void) {}
static inline void gpushim_step_n(uint64_t samples) { (void)samples; }
static inline void gpushim_mark(const char* text) { (void)text; }
static inline void gpushim_range_push(const char* text) { (void)text; }
static inline void gpushim_range_pop(void) {}
static inline uint64_t gpushim_range_start(const char* text) { return (void)text, 0; }
static inline void gpushim_range_end(uint64_t range) { (void)range; }

#else

#include <dlfcn.h>
#include <string.h>

// The function of the process that has that name, into a pointer to it. Not a weak name: a linker makes that
// null for good in a program that is not position-independent.
static inline int gpushim_found_(void** kept, const char* name, void* function) {
    void* found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (found == (void*)kept) {  // not looked for yet
        found = dlsym((void*)0 /* RTLD_DEFAULT, which C has only with _GNU_SOURCE */, name);
        __atomic_store_n(kept, found, __ATOMIC_RELAXED);
    }
    memcpy(function, &found, sizeof found);
    return found != (void*)0;
}

static inline void gpushim_step(void) {
    static void* kept = &kept;
    void (*step)(void);
    if (gpushim_found_(&kept, "gpushim_step", &step)) step();
}

static inline void gpushim_step_n(uint64_t samples) {
    static void* kept = &kept;
    void (*step_n)(uint64_t);
    if (gpushim_found_(&kept, "gpushim_step_n", &step_n)) step_n(samples);
}

static inline void gpushim_mark(const char* text) {
    static void* kept = &kept;
    void (*mark)(const char*);
    if (gpushim_found_(&kept, "gpushim_mark", &mark)) mark(text);
}

static inline void gpushim_range_push(const char* text) {
    static void* kept = &kept;
    void (*push)(const char*);
    if (gpushim_found_(&kept, "gpushim_range_push", &push)) push(text);
}

static inline void gpushim_range_pop(void) {
    static void* kept = &kept;
    void (*pop)(void);
    if (gpushim_found_(&kept, "gpushim_range_pop", &pop)) pop();
}

static inline uint64_t gpushim_range_start(const char* text) {
    static void* kept = &kept;
    uint64_t (*start)(const char*);
    return gpushim_found_(&kept, "gpushim_range_start", &start) ? start(text) : 0;
}

static inline void gpushim_range_end(uint64_t range) {
    static void* kept = &kept;
    void (*end)(uint64_t);
    if (gpushim_found_(&kept, "gpushim_range_end", &end)) end(range);
}

#endif
