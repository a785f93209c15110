// Streams and contexts that end, come again, and are used by turns.
#include <pthread.h>

#include "program.h"

// Streams that end right after a launch, contexts that end with work under way.
void ends(void) {
    int failed = 0;
    for (int i = 0; i < 300; ++i) {
        CUstream stream = stream_with(i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
        for (int k = 0; k < i % 4; ++k) failed += launch(stream) != 0;
        failed += cuStreamDestroy(stream) != 0;
    }
    printf("streams: %d failed\n", failed);
    for (int i = 0; i < 4; ++i) {
        CUcontext made;
        const CUfunction before = function;
        SAY(cuCtxCreate(&made, 0, 0, 0));
        function = kernel("work__2000us");
        CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
        wait_for_company(stream);
        failed = 0;
        for (int k = 0; k < 50; ++k) failed += launch(stream) != 0;
        for (int k = 0; k < 5; ++k) failed += launch(0) != 0;
        printf("launches: %d failed\n", failed);
        SAY(cuCtxDestroy(made));
        function = before;
    }
    operations(0, 1);
    SAY(cuCtxSynchronize());
    say_bytes(1);
}

// Primary contexts: released by one of two users, then reset with work under way, then used again.
void resets(void) {
    CUcontext again;
    SAY(cuDevicePrimaryCtxRetain(&again, 0));
    printf("the same context: %d\n", again == context);
    operations(0, 1);
    SAY(cuDevicePrimaryCtxRelease(0));
    operations(0, 2);
    SAY(cuCtxSynchronize());
    say_bytes(2);
    for (int i = 0; i < 3; ++i) {
        int failed = 0;
        function = kernel("work__2000us");
        for (int k = 0; k < 50; ++k) failed += launch(0) != 0;
        printf("launches: %d failed\n", failed);
        SAY(cuDevicePrimaryCtxReset(0));
        SAY(cuDevicePrimaryCtxRetain(&context, 0));
        SAY(cuCtxSetCurrent(context));
        SAY(cuMemAlloc(&memory, kBytes));
        SAY(cuMemHostAlloc((void**)&pinned, kBytes, 0));
        function = kernel("work__20us");
        CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
        wait_for_company(stream);
        operations(stream, 3);
        operations(0, 3);
        SAY(cuCtxSynchronize());
        say_bytes(3);
    }
}

// Two devices by turns, streams of both, and per-thread streams.
static void* use_device(void* number) {
    const int device = *(int*)number;
    CUcontext mine, now;
    int failed = 0;
    MUST(cuDevicePrimaryCtxRetain(&mine, device));
    MUST(cuCtxSetCurrent(mine));
    CUfunction work = kernel("device__20us");
    wait_for_company(CU_STREAM_PER_THREAD);
    CUstream stream = stream_with(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 500; ++i) {
        CUstream all[] = {stream, 0, CU_STREAM_PER_THREAD, CU_STREAM_LEGACY};
        failed += cuLaunchKernel(work, 1, 1, 1, 32, 1, 1, 0, all[i % 4], 0, 0) != 0;
        if (i % 50 == 0) failed += cuStreamSynchronize(all[i / 50 % 4]) != 0;
    }
    failed += cuCtxGetCurrent(&now) != 0 || now != mine;
    failed += cuCtxSynchronize() != 0;
    return (void*)(size_t)failed;
}

void devices(void) {
    int number[] = {0, 1, 0, 1};
    for (int i = 0; i < 4; ++i) {
        pthread_t thread;
        void* failed;
        pthread_create(&thread, 0, use_device, &number[i]);
        pthread_join(thread, &failed);
        printf("device %d: %zu failed\n", number[i], (size_t)failed);
    }
    operations(0, 1);
    SAY(cuCtxSynchronize());
    say_bytes(1);
}
