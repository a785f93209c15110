// Keeps a thread of ours out of a library while the process forks (a child would inherit the library's locks
// as they are), and for good once its gate is closed (the library may be torn down). Both wait for the thread
// to come out, at most 20 ms and as long as said. One thread passes each gate. Plain data, never destroyed:
// forks and exits may look at it at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpushim::shim {

class ForkGate {
  public:
    // Waits while a fork is under way. False: closed, the library is not to be entered any more.
    bool enter();
    void leave();
    void close(int64_t most_ns);

    // fork()'s handlers.
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();  // the thread that was inside is not there

  private:
    void wait_until_outside(int64_t most_ns);

    std::atomic<uint32_t> inside_ = 0;
    std::atomic<uint32_t> forks_ = 0;  // under way
    std::atomic<bool> closed_ = false;
};

extern constinit ForkGate driver_gate, nvml_gate;

// Registers all gates with fork, once. Before the first thread that passes one is started.
void watch_forks();

}  // namespace gpushim::shim
