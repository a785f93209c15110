// The same work for several things at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gpushim::analysis {

// Does `work` for 0 … count - 1, in no order, on at most so many threads, of which the caller's is one. The
// first failure stops the rest and is thrown here.
template <class Work>
void in_parallel(size_t count, size_t most, Work work) {
    std::atomic<size_t> next = 0;
    std::mutex lock;
    std::exception_ptr failure;
    const auto run = [&] {
        for (size_t i; (i = next++) < count;) try {
                work(i);
            } catch (...) {
                const std::lock_guard guard(lock);
                if (!failure) failure = std::current_exception();
                next = count;
            }
    };
    std::vector<std::thread> threads;
    try {
        for (size_t i = 1; i < std::min(count, most); ++i) threads.emplace_back(run);
    } catch (const std::system_error&) {
        // There can be no more threads: those that there are do it.
    }
    run();
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace gpushim::analysis
