// Steps of a copy, 20 launches and a wait, as many launches a second as asked for or more slowly, differently
// so in each 10 s of CLOCK_REALTIME: steps <seconds> <launches per second> [<seconds> <launches per second>
// …]. On the stepped clock; on the real one it launches without a pause, for that long and at least so often.
// UNTIL=<path>: until that file is there, on the stepped clock by doing all of it again. PRINT=1: prints of
// each of these 10 s its number, its beginning by CLOCK_MONOTONIC, how many steps began in it, how many
// ended, and how long those took. The last line says how many launches there were, in how many steps.
#include "one_gpu.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern void gpusim_advance_ns(unsigned long ns);

enum { kPerStep = 20 };
static const uint64_t kSecond = 1000000000;
static char bytes[4096];

static void (*test_clock)(uint64_t* mono_ns, uint64_t* real_ns);

static void read_clocks(uint64_t* mono_ns, uint64_t* real_ns) {
    struct timespec mono;
    if (test_clock != NULL) {
        test_clock(mono_ns, real_ns);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &mono);
    *mono_ns = *real_ns = (uint64_t)mono.tv_sec * kSecond + (uint64_t)mono.tv_nsec;
}

static CUfunction kernel;
static CUstream stream;
static CUdeviceptr memory;
static void (*step)(void);
static unsigned long launches, steps;

static int is_asked_for_more(void) {
    const char* until = getenv("UNTIL");
    return until != NULL && access(until, F_OK) != 0;
}

// It looks for the file at times only.
static int is_over(uint64_t passed_ns, uint64_t last_ns, uint64_t at_least) {
    static unsigned long looks;
    if (passed_ns < last_ns) return 0;
    if (test_clock != NULL) return 1;
    if (launches < at_least) return 0;
    return getenv("UNTIL") == NULL || (looks++ % 256 == 0 && !is_asked_for_more());
}

static struct Slot {
    uint64_t number, begun, ended, sum_ns;
    int64_t from_ns;
} slot;

static void print_slot(void) {
    if (getenv("PRINT") == NULL || slot.number == 0) return;
    printf("%lu %ld %lu %lu %lu\n", (unsigned long)slot.number, (long)slot.from_ns, (unsigned long)slot.begun,
           (unsigned long)slot.ended, (unsigned long)slot.sum_ns);
}

static void count_step(uint64_t mono_ns, uint64_t real_ns) {
    static uint64_t last_ns;
    if (real_ns / (10 * kSecond) != slot.number) {
        print_slot();
        memset(&slot, 0, sizeof slot);
        slot.number = real_ns / (10 * kSecond);
        slot.from_ns = (int64_t)(mono_ns - real_ns % (10 * kSecond));
    }
    ++slot.begun;
    if (last_ns != 0) {
        ++slot.ended;
        slot.sum_ns += mono_ns - last_ns;
    }
    last_ns = mono_ns;
}

// No two slots are alike.
static uint64_t slower_ppm(uint64_t real_ns) { return real_ns / (10 * kSecond) * 370111 % 600011; }

static void run(uint64_t last_ns, uint64_t rate) {
    uint64_t mono_ns, real_ns, started_ns;
    read_clocks(&started_ns, &real_ns);
    for (mono_ns = started_ns; !is_over(mono_ns - started_ns, last_ns, rate);) {
        if (step != NULL) step();
        read_clocks(&mono_ns, &real_ns);
        count_step(mono_ns, real_ns);
        MUST(cuMemcpyHtoDAsync(memory, bytes, sizeof bytes, stream));
        const uint64_t slower = slower_ppm(real_ns);
        for (int i = 0; i < kPerStep; ++i, ++launches) {
            launch_one(kernel, stream);
            if (test_clock != NULL) gpusim_advance_ns(kSecond / rate * (1000000 + slower) / 1000000);
        }
        MUST(cuStreamSynchronize(stream));
        ++steps;
    }
}

int main(int count, char** words) {
    const char* clock = getenv("GPUSIM_CLOCK");
    if (clock != NULL && strcmp(clock, "stepped") == 0)
        test_clock = (void (*)(uint64_t*, uint64_t*))dlsym(RTLD_DEFAULT, "gpushim_test_clock");
    step = (void (*)(void))dlsym(RTLD_DEFAULT, "gpushim_step");
    open_gpu();
    kernel = kernel_of("busy__2us");
    stream = new_stream();
    MUST(cuMemAlloc(&memory, sizeof bytes));
    do {
        for (int i = 1; i + 1 < count; i += 2)
            run((uint64_t)(atof(words[i]) * 1e9), strtoul(words[i + 1], NULL, 10));
    } while (is_asked_for_more());
    print_slot();
    printf("%lu launches in %lu steps\n", launches, steps);
    return 0;
}
