#include "host_spans.h"

#include <algorithm>

namespace gpushim::analysis {

void HostSpans::add(const HostSpan& span) {
    if (span.end_ns <= span.start_ns) return;
    if (span.thread != last_.thread) {
        finish();
        last_.thread = span.thread;
    }
    go_to(span.start_ns);
    int64_t& open_until_ns = open_until_ns_[static_cast<size_t>(span.inside)];
    open_until_ns = std::max(open_until_ns, span.end_ns);
}

void HostSpans::finish() {
    go_to(INT64_MAX);
    if (last_.end_ns > last_.start_ns) give_(last_);
    last_.end_ns = last_.start_ns;
    open_until_ns_.fill(INT64_MIN);
    at_ns_ = INT64_MIN;
}

void HostSpans::go_to(int64_t until_ns) {
    while (at_ns_ < until_ns) {
        const auto open = std::find_if(open_until_ns_.begin(), open_until_ns_.end(),
                                       [this](int64_t end_ns) { return end_ns > at_ns_; });
        const int64_t from_ns = at_ns_;
        at_ns_ = open == open_until_ns_.end() ? until_ns : std::min(until_ns, *open);
        if (open != open_until_ns_.end())
            extend(static_cast<HostInside>(open - open_until_ns_.begin()), from_ns, at_ns_);
    }
}

void HostSpans::extend(HostInside inside, int64_t from_ns, int64_t until_ns) {
    const bool is_there = last_.end_ns > last_.start_ns;
    if (is_there && last_.inside == inside && last_.end_ns == from_ns) {
        last_.end_ns = until_ns;
        return;
    }
    if (is_there) give_(last_);
    last_ = {last_.thread, from_ns, until_ns, inside};
}

}  // namespace gpushim::analysis
