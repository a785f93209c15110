// The one line of the terminal that Progress has: who paints it, and how it goes away.
//
// INT, TERM, HUP and QUIT come to the painter while there is one: all other threads have them blocked. It
// takes the line away and then lets the signal do what it would have done, whoever else has set what that is.
#pragma once

#include <signal.h>

#include <chrono>
#include <mutex>
#include <thread>

namespace gpushim::analysis {

class Progress;

class ProgressLine {
  public:
    static ProgressLine& get();
    static bool is_wanted();  // stderr is a terminal

    void begin(Progress& progress);  // of those that are there it is the innermost
    void end(Progress& progress);    // the last one takes the line away
    // Held while something else is written to the terminal. For good: nothing is painted after it.
    std::unique_lock<std::mutex> away(bool for_good);

  private:
    using Clock = std::chrono::steady_clock;
    void start();
    void stop();
    void paint_on();
    void paint();
    void pass_on();
    void erase();

    std::mutex lock_;
    Progress* innermost_ = nullptr;
    Clock::time_point from_ = Clock::time_point::max();  // never before
    bool is_painted_ = false, is_over_ = false, has_ended_ = false;

    std::thread painter_;
    int over_ = -1, signals_ = -1;  // descriptors that the painter waits at
    sigset_t before_{};
};

}  // namespace gpushim::analysis
