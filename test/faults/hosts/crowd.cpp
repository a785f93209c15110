// Threads that are all alive at once, each with seven copies; and functions of as many names.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "way.h"

namespace {

constexpr size_t kStackBytes = 64 * 1024;
pthread_barrier_t all_there;

void* copy_and_stay(void* nothing) {
    copy_seven(nothing);
    pthread_barrier_wait(&all_there);
    return nullptr;
}

bool is_long(int n) { return host_number < 100'000 ? n % 10 != 0 : n % 1000 == 0; }

// Of lengths from 1 byte to 64 KiB, and of bytes that are no UTF-8. Most are long, of very many
// few.
std::string name_of(int n) {
    std::string name = std::to_string(n) + "\xff\xfe_'\"<";
    name.resize(is_long(n) ? 65535 : name.size() + static_cast<size_t>(n) % 40, 'n');
    return name;
}

}  // namespace

WAY(crowd) {
    pthread_attr_t small;
    std::vector<pthread_t> threads(static_cast<size_t>(host_number));
    open_gpu();
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, kStackBytes);
    pthread_barrier_init(&all_there, nullptr, static_cast<unsigned>(host_number) + 1);
    for (pthread_t& thread : threads)
        must(pthread_create(&thread, &small, copy_and_stay, nullptr) == 0, "thread");
    pthread_barrier_wait(&all_there);
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    printf("%d threads\n", host_number);
}

WAY(functions) {
    CUmodule module;
    open_gpu();
    must(cuModuleLoadData(&module, "an image") == CUDA_SUCCESS, "module");
    for (int n = 0; n < host_number; ++n) {
        CUfunction function;
        must(cuModuleGetFunction(&function, module, name_of(n).c_str()) == CUDA_SUCCESS, "function");
        must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS,
             "launch");
        if (is_long(n)) usleep(500);  // else most would be dropped in the ring
    }
    must(cuCtxSynchronize() == CUDA_SUCCESS, "wait");
    printf("%d functions\n", host_number);
}
