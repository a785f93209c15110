#include "program_spans.h"

#include <algorithm>

namespace gpushim::analysis {

void ProgramSpans::find_operators(const HostSpan& span) {
    if (span.thread != thread_ || span.inside != HostInside::framework) return;
    if (!operators_.empty() && span.start_ns <= operators_.back().end_ns)
        operators_.back().end_ns = std::max(operators_.back().end_ns, span.end_ns);
    else if (operators_.size() < kMost)
        operators_.push_back({span.start_ns, span.end_ns});
}

void ProgramSpans::find_parts(const HostSpan& span) {
    const bool is_part = span.inside == HostInside::framework || span.inside == HostInside::allocates;
    if (span.thread == thread_ || !is_part) return;
    auto in = std::lower_bound(operators_.begin(), operators_.end(), span.start_ns,
                               [](const Interval& a, int64_t ns) { return a.end_ns <= ns; });
    for (; in != operators_.end() && in->start_ns < span.end_ns && parts_.size() <= kMost; ++in)
        parts_.push_back(
            {thread_, std::max(span.start_ns, in->start_ns), std::min(span.end_ns, in->end_ns), span.inside});
}

void ProgramSpans::lay_out(const HostSpan& span) {
    if (span.thread != thread_) return;
    add_parts_until(span.start_ns);
    laid_out_.add(span);
}

void ProgramSpans::finish() {
    add_parts_until(INT64_MAX);
    laid_out_.finish();
}

void ProgramSpans::sort_parts() {
    if (parts_.size() > kMost) parts_.clear();  // of a part of them it would be wrong
    std::sort(parts_.begin(), parts_.end(), ByThreadAndStart());
    are_sorted_ = true;
}

void ProgramSpans::add_parts_until(int64_t start_ns) {
    if (!are_sorted_) sort_parts();
    for (; next_ < parts_.size() && parts_[next_].start_ns < start_ns; ++next_) laid_out_.add(parts_[next_]);
}

}  // namespace gpushim::analysis
