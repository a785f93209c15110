// A program whose files and pipes come and go while the library writes: each round a thread hands a number to
// another through a pipe of that round's own. Prints their sum.
#include <cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 400

static int ends[2];
static long handed;  // no lock: the pipe orders who writes it and who reads it

static void must(int well, const char* what) {
    if (well) return;
    perror(what);
    exit(1);
}

static void* hands_over(void* number) {
    handed = (long)number;
    must(write(ends[1], "!", 1) == 1, "write");
    return NULL;
}

static long take_over(long number) {
    pthread_t thread;
    char signal;
    must(pipe(ends) == 0, "pipe");
    must(pthread_create(&thread, NULL, hands_over, (void*)number) == 0, "pthread_create");
    must(read(ends[0], &signal, 1) == 1, "read");
    const long taken = handed;
    pthread_join(thread, NULL);
    close(ends[0]);
    close(ends[1]);
    return taken;
}

static void write_a_file(void) {
    const int file = open("/dev/null", O_WRONLY);
    must(file >= 0 && write(file, "?", 1) == 1, "/dev/null");
    close(file);
}

int main(void) {
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory;
    must(cuInit(0) == 0 && cuDeviceGet(&device, 0) == 0, "device");
    must(cuDevicePrimaryCtxRetain(&context, device) == 0 && cuCtxSetCurrent(context) == 0, "context");
    must(cuMemAlloc(&memory, 64) == 0, "memory");
    long sum = 0;
    for (long i = 0; i < ROUNDS; ++i) {
        must(cuMemsetD8(memory, 1, 64) == 0, "memset");
        write_a_file();
        sum += take_over(i);
        usleep(1000);
    }
    printf("%ld\n", sum);
    return 0;
}
