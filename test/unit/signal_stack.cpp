// Catch2, as it was compiled, asks the C library how large a stack for signals has to be. Before 2.34 that
// has no answer, and on such a system each test would begin with an allocation of -1 bytes. Not linked in
// front under a sanitizer, whose runtime asks before this can run.
#include <unistd.h>

extern "C" {

[[gnu::weak]] long __real_sysconf(int name);

long __wrap_sysconf(int name) {
    constexpr long kEnough = 64 << 10;
    const long answer = __real_sysconf(name);
    return answer == -1 && (name == _SC_SIGSTKSZ || name == _SC_MINSIGSTKSZ) ? kEnough : answer;
}
}
