// Launches on one device for so many milliseconds, then ends as it is told.
//   busy DEVICE MILLISECONDS [HOW]
//   inside: while somebody is in NVML   fork: forks while somebody is   power: says what NVML says to it
#include "one_gpu.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void* nvml;

static volatile int* word(const char* name) { return dlsym(nvml, name); }

static int is_loaded(void) { return (nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD)) != NULL; }
static int is_started(void) { return *word("file") >= 0; }
static int somebody_is_inside(void) { return *word("inside"); }
static int somebody_is_briefly_inside(void) { return *word("briefly_inside"); }

static void wait_until(int (*condition)(void)) {
    const double give_up = seconds() + 20;
    while (!condition()) {
        if (seconds() > give_up) exit(2);
        usleep(100);
    }
}

static void say_power(void) {
    int (*power)(void*, unsigned*) = (int (*)(void*, unsigned*))dlsym(nvml, "nvmlDeviceGetPowerUsage");
    unsigned milliwatts = 0;
    power(NULL, &milliwatts);
    printf("%u\n", milliwatts);
}

// What the child has inherited.
static void fork_and_look(void) {
    wait_until(somebody_is_briefly_inside);
    if (fork() == 0) _exit(*word("briefly_inside"));
    int status = -1;
    wait(&status);
    printf("%d\n", status);
}

static void end(const char* how) {
    wait_until(is_loaded);
    wait_until(is_started);
    if (strcmp(how, "inside") == 0) wait_until(somebody_is_inside);
    if (strcmp(how, "fork") == 0) fork_and_look();
    if (strcmp(how, "power") == 0) say_power();
}

int main(int argc, char** argv) {
    open_primary_of(atoi(argv[1]));
    const CUfunction kernel = kernel_of("busy__900us");
    const double until = seconds() + atof(argv[2]) / 1000;
    while (seconds() < until) {
        launch_one(kernel, NULL);
        MUST(cuCtxSynchronize());
    }
    if (argc > 3) end(argv[3]);
    return 0;
}
