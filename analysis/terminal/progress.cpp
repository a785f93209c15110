#include "progress.h"

#include <algorithm>

#include "../text/units.h"
#include "progress_line.h"

namespace gpushim::analysis {

namespace {

constexpr double kTooEarly = 0.02;  // of the work: what the rest takes cannot be told yet

// 12 s, 3 min, 1 h 50 min.
std::string seconds_text(double seconds) {
    const auto whole = static_cast<int64_t>(std::max(seconds, 1.0) + 0.5);
    if (whole < 100) return std::to_string(whole) + " s";
    const int64_t minutes = (whole + 30) / 60;
    if (minutes < 100) return std::to_string(minutes) + " min";
    return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

}  // namespace

constinit std::atomic<Progress*> Progress::innermost_ = nullptr;

Progress::Progress(std::string what, Unit unit)
    : what_(std::move(what)),
      unit_(unit),
      begin_(Clock::now()),
      is_shown_(ProgressLine::is_wanted() && !ProgressWhole::is_here_) {
    if (!is_shown_) return;
    around_ = innermost_;
    ProgressLine::get().begin(*this);
}

Progress::~Progress() {
    if (is_shown_) ProgressLine::get().end(*this);
}

void Progress::expect(int64_t units) {
    Progress* const now = innermost_.load(std::memory_order_relaxed);
    if (now != nullptr && !ProgressWhole::is_here_) now->expected_ += units;
}

void Progress::done(int64_t units) {
    Progress* const now = innermost_.load(std::memory_order_relaxed);
    if (now == nullptr || ProgressWhole::is_here_) return;
    if (ProgressPart* const part = ProgressPart::here_) {
        units = std::min(units * part->each_, part->left_);
        part->left_ -= units;
    }
    now->done_.fetch_add(units, std::memory_order_relaxed);
}

thread_local bool ProgressWhole::is_here_ = false;

ProgressWhole::~ProgressWhole() {
    is_here_ = false;
    Progress::done(units_);
}

thread_local ProgressPart* ProgressPart::here_ = nullptr;

ProgressPart::ProgressPart(int64_t units, int64_t each) : left_(units), each_(each) { here_ = this; }

ProgressPart::~ProgressPart() {
    here_ = nullptr;
    Progress::done(left_);
}

std::string nth_of(const char* what, size_t place, size_t count) {
    return std::string(what) + " " + std::to_string(place + 1) + " of " + std::to_string(count);
}

std::string how_far_text(int64_t done, int64_t expected, double seconds) {
    if (expected <= 0) return seconds_text(seconds) + " so far";
    // Who expected too little is not through for that.
    const double share = std::clamp(static_cast<double>(done) / static_cast<double>(expected), 0.0, 0.99);
    std::string text = std::to_string(static_cast<int>(100 * share)) + " %";
    if (share >= kTooEarly && done <= expected)
        text += ", " + seconds_text(seconds * (1 - share) / share) + " left";
    return text;
}

std::string Progress::text(Clock::time_point now) const {
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const int64_t done = done_, expected = expected_;
    std::string text = what_ + ": ";
    if (unit_ == Unit::bytes && expected <= 0)
        text += bytes_text(static_cast<double>(done)) + " so far";
    else
        text += how_far_text(done, expected, seconds);
    for (const Progress* outer = around_; outer != nullptr; outer = outer->around_)
        text += " (" + outer->what_ + ")";
    return text;
}

}  // namespace gpushim::analysis
