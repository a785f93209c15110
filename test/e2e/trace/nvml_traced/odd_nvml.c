// A library with the name of NVML and with its ways to be odd: functions are missing, some answers are
// errors, some are slow, and all of it hangs on a descriptor of the process. gcc -shared -fPIC.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, UNKNOWN = 999 };

int file = -1;
static volatile int gone;
static unsigned long long state_asked;
static unsigned temperature_asked;
volatile int inside;  // somebody is in the slowest
volatile int briefly_inside;

__attribute__((destructor)) static void end(void) {
    gone = 1;
    if (inside) usleep(300000);  // whoever it is notices
}

static void enter(void) {
    inside = 1;
    if (gone) abort();
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    file = open("/dev/null", O_RDWR | O_CLOEXEC);
    return file >= 0 ? OK : UNKNOWN;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    *device = &file;
    return strncmp(uuid, "GPU-", 4) == 0 ? OK : UNKNOWN;
}

// 42 W where the descriptor is what it was.
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
    struct stat now, wanted;
    (void)device;
    const int both = fstat(file, &now) == 0 && stat("/dev/null", &wanted) == 0;
    *milliwatts = both && now.st_rdev == wanted.st_rdev ? 42000 : 1;
    return OK;
}

int nvmlDeviceGetPerformanceState(void* device, int* state) {
    (void)device;
    (void)state;
    ++state_asked;
    return NOT_SUPPORTED;
}

// How often the one before was asked.
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
    (void)device;
    *millijoules = state_asked;
    return OK;
}

// The first time it does not work.
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
    (void)device;
    (void)sensor;
    *celsius = 55;
    return temperature_asked++ == 0 ? UNKNOWN : OK;
}

// The older one of two names.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
    (void)device;
    *bits = 4;
    return OK;
}

int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* mhz) {
    (void)device;
    (void)clock;
    enter();
    usleep(60000);
    if (gone) abort();
    inside = 0;
    *mhz = 1000;
    return OK;
}

int nvmlDeviceGetEncoderUtilization(void* device, unsigned* percent, unsigned* period_us) {
    (void)device;
    briefly_inside = 1;
    usleep(4000);
    briefly_inside = 0;
    *percent = *period_us = 0;
    return OK;
}
