// Functions of newer C libraries that the C++ library linked into ours asks for, in a form that older ones
// can serve: this library loads where they are missing. Hidden: nobody else's calls come here.
#include <sys/random.h>

#include <cstdint>
#include <ctime>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof number))
        return number;
    // Nothing of ours needs it to be hard to guess.
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint32_t>(now.tv_nsec) * 2654435761u;
}

// SQL's mathematical functions, which no statement of ours uses: without them SQLite would have every process
// that is started with the preload map libm.
extern "C" __attribute__((visibility("hidden"), used)) double gpushim_no_number() {
    return __builtin_nan("");
}
#define NO_NUMBER(name) asm(".globl " #name "\n.hidden " #name "\n.set " #name ", gpushim_no_number\n")
NO_NUMBER(acos);
NO_NUMBER(acosh);
NO_NUMBER(asin);
NO_NUMBER(asinh);
NO_NUMBER(atan);
NO_NUMBER(atan2);
NO_NUMBER(atanh);
NO_NUMBER(cos);
NO_NUMBER(cosh);
NO_NUMBER(exp);
NO_NUMBER(fmod);
NO_NUMBER(log);
NO_NUMBER(pow);
NO_NUMBER(sin);
NO_NUMBER(sinh);
NO_NUMBER(sqrt);
NO_NUMBER(tan);
NO_NUMBER(tanh);
NO_NUMBER(trunc);
