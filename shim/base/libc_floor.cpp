// Functions of newer C libraries that the C++ library linked into ours asks for, in a form that older ones
// can serve: the library and the analyzer load where they are missing. Hidden: nobody else's calls come here.
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
