#include "host_spans.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

constexpr HostInside kOrder[] = {HostInside::input,     HostInside::optimizer, HostInside::messages,
                                 HostInside::allocates, HostInside::framework, HostInside::waits,
                                 HostInside::python,    HostInside::untold};

}  // namespace

void HostSpans::add(const HostSpan& span) {
    if (span.end_ns <= span.start_ns) return;
    if (span.thread != last_.thread) {
        finish();
        last_.thread = span.thread;
    }
    go_to(span.start_ns);
    if (span.inside == HostInside::framework) begin_operator();
    begin_stage(span);
    open_until(span.inside) = std::max(open_until(span.inside), span.end_ns);
}

// What is around a loader does not say its stage.
void HostSpans::begin_stage(const HostSpan& span) {
    end_stages(span.start_ns);
    if (span.inside == HostInside::input && open_until(HostInside::input) <= span.start_ns) stages_.clear();
    if (span.stage != LoadingStage::untold) stages_.push_back({span.end_ns, span.stage});
}

// Of a long operator the parts count, if it is made of many short ones: that is dispatching. One that goes on
// for long without another is an operator's own work, and stays whole.
void HostSpans::begin_operator() {
    const bool goes_on =
        last_.inside == HostInside::framework && last_.end_ns == at_ns_ && last_.end_ns > last_.start_ns;
    if (!goes_on) return;
    const int64_t alone_ns = at_ns_ - std::max(begun_ns_, last_.start_ns);
    if (alone_ns >= kOwnWorkNs) own_work_ns_ += alone_ns;
    begun_ns_ = at_ns_;
    const int64_t length_ns = last_.end_ns - last_.start_ns;
    if (length_ns < kLongNs || 2 * own_work_ns_ >= length_ns) return;
    give_(last_);
    last_.start_ns = last_.end_ns;
}

void HostSpans::finish() {
    go_to(INT64_MAX);
    if (last_.end_ns > last_.start_ns) give_(last_);
    last_.end_ns = last_.start_ns;
    open_until_ns_.fill(INT64_MIN);
    stages_.clear();
    at_ns_ = INT64_MIN;
}

void HostSpans::go_to(int64_t until_ns) {
    while (at_ns_ < until_ns) {
        const auto* const open =
            std::find_if(std::begin(kOrder), std::end(kOrder),
                         [this](HostInside inside) { return open_until(inside) > at_ns_; });
        const int64_t from_ns = at_ns_;
        at_ns_ = open == std::end(kOrder) ? until_ns : std::min(until_ns, open_until(*open));
        if (open == std::end(kOrder)) continue;
        end_stages(from_ns);
        const bool is_in_stage = *open == HostInside::input && !stages_.empty();
        if (is_in_stage) at_ns_ = std::min(at_ns_, stages_.back().until_ns);
        extend(*open, is_in_stage ? stages_.back().stage : LoadingStage::untold, from_ns);
    }
}

void HostSpans::end_stages(int64_t by_ns) {
    while (!stages_.empty() && stages_.back().until_ns <= by_ns) stages_.pop_back();
}

void HostSpans::extend(HostInside inside, LoadingStage stage, int64_t from_ns) {
    const bool is_there = last_.end_ns > last_.start_ns;
    if (is_there && last_.inside == inside && last_.stage == stage && last_.end_ns == from_ns) {
        last_.end_ns = at_ns_;
        return;
    }
    if (is_there) give_(last_);
    last_ = {last_.thread, from_ns, at_ns_, inside, stage};
    begun_ns_ = from_ns;
    own_work_ns_ = 0;
}

}  // namespace gpushim::analysis
