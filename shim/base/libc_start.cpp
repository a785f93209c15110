// How a program starts. Since 2.34 the C library runs a program's constructors; before, the program brought a
// function that does, and crt1.o of today brings none.
#include <cstddef>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

namespace {

using Main = int(int, char**, char**);
using Constructor = void(int, char**, char**);

}  // namespace

extern "C" {

extern Constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* __init_array_end[] __attribute__((visibility("hidden")));
void _init() __attribute__((visibility("hidden")));

int start_in_libc(Main*, int, char**, Constructor*, void (*)(), void (*)(), void*);
asm(".symver start_in_libc, __libc_start_main@" OLDEST);

static void construct(int argc, char** argv, char** environment) {
    _init();
    for (Constructor** one = __init_array_start; one != __init_array_end; ++one)
        (*one)(argc, argv, environment);
}

__attribute__((visibility("hidden"))) int __libc_start_main(Main* main, int argc, char** argv,
                                                            Constructor* init, void (*fini)(),
                                                            void (*loader_fini)(), void* stack_end) {
    return start_in_libc(main, argc, argv, init != nullptr ? init : construct, fini, loader_fini, stack_end);
}

}  // extern "C"
