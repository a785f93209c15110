#include "torch.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

// A last step with less than this of the operations of the one before was recorded in part.
constexpr double kWholeStep = 0.8;

}  // namespace

TorchSteps::TorchSteps(std::vector<Interval> host_steps)
    : steps_(std::move(host_steps)), ran_(steps_.size()) {}

void TorchSteps::add(const TorchLaunch& launch) {
    if (steps_.empty()) return;
    while (at_ < steps_.size() && launch.call.start_ns >= steps_[at_].end_ns) ++at_;
    if (at_ < steps_.size() && launch.call.start_ns >= steps_[at_].start_ns &&
        launch.call.end_ns <= steps_[at_].end_ns) {
        Ran& ran = ran_[at_];
        ran.span = {std::min(ran.span.start_ns, launch.ran.start_ns),
                    std::max(ran.span.end_ns, launch.ran.end_ns)};
        ++ran.operations;
    } else if (at_ == 0) {
        add_unmatched(launch.ran.end_ns);
    }
}

void TorchSteps::add_alone(Interval ran) {
    if (!steps_.empty()) add_unmatched(ran.end_ns);
}

// What ends after the first step's work has begun will not matter: that can only turn out to be earlier.
void TorchSteps::add_unmatched(int64_t end_ns) {
    if (end_ns > steps_[0].start_ns && end_ns < ran_[0].span.start_ns) ended_first_.push_back(end_ns);
}

// Work from before the first step is no part of it, as long as it ended before the step's own began.
int64_t TorchSteps::first_begin_ns() const {
    int64_t begin_ns = steps_[0].start_ns;
    for (const int64_t end_ns : ended_first_)
        if (ran_[0].operations > 0 && end_ns < ran_[0].span.start_ns) begin_ns = std::max(begin_ns, end_ns);
    return begin_ns;
}

size_t TorchSteps::whole_steps() const {
    size_t steps = steps_.size();
    while (steps > 0 && ran_[steps - 1].operations == 0) --steps;
    if (steps > 1 && kWholeStep * static_cast<double>(ran_[steps - 2].operations) >
                         static_cast<double>(ran_[steps - 1].operations))
        --steps;
    return steps;
}

std::vector<Interval> TorchSteps::spans() const {
    std::vector<Interval> spans;
    if (steps_.empty()) return spans;
    int64_t begin_ns = first_begin_ns();
    for (size_t i = 0; i < whole_steps(); ++i) {
        begin_ns = std::max(begin_ns, steps_[i].start_ns);
        int64_t end_ns = std::max(begin_ns, steps_[i].end_ns);
        if (ran_[i].operations > 0) end_ns = std::max(end_ns, ran_[i].span.end_ns);
        spans.push_back({begin_ns, end_ns});
        begin_ns = end_ns;
    }
    return spans;
}

void TorchSums::add(TorchRole role, Interval span) {
    out_of_order_ += span.start_ns < at_ns_;
    go_to(span.start_ns);
    int64_t& until_ns = until_ns_[static_cast<size_t>(role)];
    until_ns = std::max(until_ns, span.end_ns);
}

void TorchSums::finish() {
    if (!steps_.empty()) go_to(steps_.back().end_ns);
}

// What begins later is not known yet, and nothing before: until then only ends matter.
void TorchSums::go_to(int64_t until_ns) {
    if (at_ns_ == INT64_MIN && !steps_.empty()) at_ns_ = std::min(until_ns, steps_.front().start_ns);
    while (at_ns_ < until_ns) {
        size_t role = 0;
        while (role < until_ns_.size() && until_ns_[role] <= at_ns_) ++role;
        const int64_t next_ns = role < until_ns_.size() ? std::min(until_ns, until_ns_[role]) : until_ns;
        give(static_cast<TorchRole>(role), at_ns_, next_ns);
        at_ns_ = next_ns;
    }
}

void TorchSums::give(TorchRole role, int64_t from_ns, int64_t until_ns) {
    while (step_ < steps_.size() && steps_[step_].end_ns <= from_ns) ++step_;
    for (size_t i = step_; i < steps_.size() && steps_[i].start_ns < until_ns; ++i) {
        const int64_t begin_ns = std::max(from_ns, steps_[i].start_ns);
        const int64_t end_ns = std::min(until_ns, steps_[i].end_ns);
        if (end_ns > begin_ns) ns_[i][static_cast<size_t>(role)] += end_ns - begin_ns;
    }
}

}  // namespace gpushim::analysis
