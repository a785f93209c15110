// What a thread has beside its memory, before and after hooked calls: errno, the floating point unit, the
// signal mask, cancellation.
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstring>

#include "way.h"

struct State {
    int error;
    fenv_t floating;
    unsigned control;
    sigset_t mask;
    int cancel_state;
    int cancel_type;
};

static void read_state(State& state) {
    state.error = errno;
    fegetenv(&state.floating);
#ifdef __x86_64__
    state.control = __builtin_ia32_stmxcsr();
#endif
    pthread_sigmask(SIG_SETMASK, nullptr, &state.mask);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state.cancel_state);
    pthread_setcancelstate(state.cancel_state, nullptr);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &state.cancel_type);
    pthread_setcanceltype(state.cancel_type, nullptr);
}

static void set_state(int n) {
    constexpr int kRoundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    fesetround(kRoundings[n % 4]);
    feclearexcept(FE_ALL_EXCEPT);
    if (n % 2 == 1) feraiseexcept(FE_INEXACT);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1 + n % 2);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    pthread_setcancelstate(n % 2 == 0 ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, nullptr);
    errno = 1000 + n;
}

static void compare(const char* what, int n, const State& before) {
    State after = {};
    read_state(after);
    printf("%s %d:%s%s%s%s%s%s\n", what, n, after.error != before.error ? " errno" : "",
           memcmp(&after.floating, &before.floating, sizeof after.floating) != 0 ? " floating" : "",
           after.control != before.control ? " control" : "",
           memcmp(&after.mask, &before.mask, sizeof after.mask) != 0 ? " mask" : "",
           after.cancel_state != before.cancel_state ? " cancel state" : "",
           after.cancel_type != before.cancel_type ? " cancel type" : "");
}

template <class Call>
static void kept_by(const char* what, int n, Call call) {
    State before = {};
    set_state(n);
    read_state(before);
    errno = 1000 + n;
    before.error = errno;
    call();
    compare(what, n, before);
}

WAY(state) {
    CUdevice device;
    must(cuInit(0) == CUDA_SUCCESS, "cuInit");
    for (int n = 0; n < 4; ++n) kept_by("a look", n, [&] { cuDeviceGet(&device, 0); });
    kept_by("the first context", 1, [] { cuCtxCreate_v4(&host_context, nullptr, 0, 0); });
    kept_by("memory", 2, [] { open_gpu(); });
    for (int n = 0; n < 4; ++n) kept_by("copies", n, [] { copy(100); });
    // More than a ring holds, of a call in which the driver itself does not calculate.
    constexpr int kMany = 20000;
    for (int n = 0; n < 4; ++n)
        kept_by("errors", n, [] {
            for (int i = 0; i < kMany; ++i) cuMemFree_v2(1);
        });
}
