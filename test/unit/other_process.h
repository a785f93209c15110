// Another process of the box: does what it is told right after a fork, then stays until it is let go. To be
// made before this process uses the box, or for work that a fork may do.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

class OtherProcess {
  public:
    enum class Wait { yes, no };

    template <class Work>
    explicit OtherProcess(Work work, Wait wait = Wait::yes) {
        int there[2];
        REQUIRE(pipe(there) == 0);
        pid_ = fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            work();
            if (write(there[1], "!", 1) != 1) _exit(1);
            for (;;) pause();
        }
        close(there[1]);
        there_ = there[0];
        if (wait == Wait::yes) wait_until_there();
    }
    ~OtherProcess() {
        kill_now();
        close(there_);
    }
    OtherProcess(const OtherProcess&) = delete;
    OtherProcess& operator=(const OtherProcess&) = delete;

    pid_t pid() const { return pid_; }

    // Until its work is done.
    void wait_until_there() {
        char byte = 0;
        REQUIRE(read(there_, &byte, 1) == 1);
    }

    void kill_now() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

  private:
    pid_t pid_ = 0;
    int there_ = -1;
};

// Values from one process to another, by a pipe.
struct Channel {
    int ends[2];
    Channel() { REQUIRE(pipe(ends) == 0); }
    template <class T>
    void send(const T& value) {
        if (write(ends[1], &value, sizeof value) != sizeof value) _exit(3);
    }
    template <class T>
    T receive() {
        T value;
        if (read(ends[0], &value, sizeof value) != sizeof value) _exit(3);
        return value;
    }
};
