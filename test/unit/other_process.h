// Another process of the box: does what it is told right after a fork, then stays until it is let go. To be
// made before this process uses the box: a fork of a user of CUDA may not use it.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

class OtherProcess {
  public:
    template <class Work>
    explicit OtherProcess(Work work) {
        int there[2];
        REQUIRE(pipe(there) == 0);
        pid_ = fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            work();
            if (write(there[1], "!", 1) != 1) _exit(1);
            for (;;) pause();
        }
        char ready = 0;
        close(there[1]);
        const ssize_t got = read(there[0], &ready, 1);
        close(there[0]);
        REQUIRE(got == 1);
    }
    ~OtherProcess() { kill_now(); }
    OtherProcess(const OtherProcess&) = delete;
    OtherProcess& operator=(const OtherProcess&) = delete;

    pid_t pid() const { return pid_; }

    void kill_now() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

  private:
    pid_t pid_ = 0;
};
