// What takes long shows on the terminal how far it is: one line on stderr, from one second after the first
// Progress on, rewritten five times a second by a thread of its own, and erased at the end of what it shows,
// before anything else is told, and by INT, TERM, HUP and QUIT. Where stderr is no terminal, or another job
// has it, nothing is written, and where it is none nothing is counted.
//
//   gpushim: analysing 8 traces: 42 %, 12 s left (run 3 of 4)
//
// A Progress lies in another as calls do: the innermost counts, those around it stand behind it in brackets.
// Made and destroyed on one thread, while no other counts; expect() and done() from any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace gpushim::analysis {

class Progress {
  public:
    enum class Unit : uint8_t { part, bytes };  // bytes are told where nobody knows how many there will be

    explicit Progress(std::string what, Unit unit = Unit::part);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // Somebody sees it: what costs a little to find out may be asked for.
    static bool is_shown() { return innermost_.load(std::memory_order_relaxed) != nullptr; }
    // Of the innermost: so many units more are to be done, or are done. Nothing where there is none.
    static void expect(int64_t units);
    static void done(int64_t units);

  private:
    friend class ProgressLine;
    using Clock = std::chrono::steady_clock;
    std::string text(Clock::time_point now) const;

    static std::atomic<Progress*> innermost_;

    std::string what_;
    Unit unit_;
    Clock::time_point begin_;
    bool is_shown_;
    Progress* around_ = nullptr;
    std::atomic<int64_t> expected_ = 0, done_ = 0;
};

// "run 2 of 5" for the place 1 of 5.
std::string nth_of(const char* what, size_t place, size_t count);
// "42 %, 12 s left"; expected 0: "12 s so far".
std::string how_far_text(int64_t done, int64_t expected, double seconds);

// A part of the work that is told of when it is done, and not before: what this thread expects and counts
// while it lives goes nowhere, and a Progress that it makes is not shown. Then several threads may do such
// parts at once. One at a time on a thread.
class ProgressWhole {
  public:
    explicit ProgressWhole(int64_t units) : units_(units) { is_here_ = true; }
    ~ProgressWhole();
    ProgressWhole(const ProgressWhole&) = delete;
    ProgressWhole& operator=(const ProgressWhole&) = delete;

  private:
    friend class Progress;
    static thread_local bool is_here_;
    int64_t units_;
};

// A part of the work that may be gone through more often than was expected, or not to its end: what this
// thread counts while it lives is so many units each, up to all of them, which are done when it ends. One at
// a time on a thread.
class ProgressPart {
  public:
    explicit ProgressPart(int64_t units, int64_t each = 1);
    ~ProgressPart();
    ProgressPart(const ProgressPart&) = delete;
    ProgressPart& operator=(const ProgressPart&) = delete;

  private:
    friend class Progress;
    static thread_local ProgressPart* here_;
    int64_t left_, each_;
};

// Counts in a loop, and passes it on some thousand at a time. One thread.
class ProgressCount {
  public:
    ProgressCount() = default;
    ~ProgressCount() { Progress::done(count_); }
    ProgressCount(const ProgressCount&) = delete;
    ProgressCount& operator=(const ProgressCount&) = delete;
    void operator++() { *this += 1; }
    void operator+=(int64_t units) {
        count_ += units;
        if (count_ >= kAtOnce) {
            Progress::done(count_);
            count_ = 0;
        }
    }

  private:
    static constexpr int64_t kAtOnce = 4096;
    int64_t count_ = 0;
};

// While this lives the line is away, and something else can be written to the terminal; for good: it does not
// come back. Any thread.
class BesideProgress {
  public:
    explicit BesideProgress(bool for_good = false);

  private:
    std::unique_lock<std::mutex> held_;
};

}  // namespace gpushim::analysis
