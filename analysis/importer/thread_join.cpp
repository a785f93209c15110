#include "thread_join.h"

#include <algorithm>
#include <limits>

namespace gpushim::analysis {

void ThreadJoin::called(int64_t thread, int64_t enter_ns, int64_t exit_ns) {
    all_ = {std::min(all_.start_ns, enter_ns), std::max(all_.end_ns, exit_ns)};
    if (sampled_.size() == kMostThreads && !sampled_.contains(thread)) return;
    Sampled& sampled = sampled_[thread];
    if (sampled.seen++ % sampled.every != 0) return;
    if (sampled.calls.size() == kMostCalls) {  // every second one stays
        for (size_t i = 0; i < kMostCalls / 2; ++i) sampled.calls[i] = sampled.calls[2 * i];
        sampled.calls.resize(kMostCalls / 2);
        sampled.every *= 2;
    }
    sampled.calls.emplace_back(enter_ns, exit_ns);
}

void ThreadJoin::lay_out() {
    is_laid_out_ = true;
    for (const auto& [thread, sampled] : sampled_)
        for (const auto& [enter_ns, exit_ns] : sampled.calls)
            calls_.push_back({enter_ns, exit_ns, thread, INT64_MAX});
    std::sort(calls_.begin(), calls_.end(),
              [](const Call& a, const Call& b) { return a.enter_ns < b.enter_ns; });
}

void ThreadJoin::inside(const HostSpan& span) {
    if (!is_laid_out_) lay_out();
    if (is_open_ && span.thread != thread_) end_thread();
    thread_ = span.thread;
    is_open_ = true;
    if (sampled_.contains(span.thread)) {
        own_.insert(span.thread);
        return;
    }
    if (span.inside == HostInside::waits) return;  // for calls of others, maybe
    auto call = std::lower_bound(calls_.begin(), calls_.end(), span.start_ns,
                                 [](const Call& a, int64_t ns) { return a.enter_ns < ns; });
    for (; call != calls_.end() && call->enter_ns <= span.end_ns && visits_ < kMostVisits; ++call) {
        ++visits_;
        if (call->exit_ns <= span.end_ns)
            call->shortest_ns = std::min(call->shortest_ns, span.end_ns - span.start_ns);
    }
}

void ThreadJoin::end_thread() {
    struct Sum {
        double length_ns = 0;
        size_t held = 0;
    };
    std::map<int64_t, Sum> sums;
    for (Call& call : calls_) {
        if (call.shortest_ns != INT64_MAX) {
            Sum& sum = sums[call.thread];
            sum.length_ns += static_cast<double>(call.shortest_ns);
            ++sum.held;
        }
        call.shortest_ns = INT64_MAX;
    }
    for (const auto& [thread, sum] : sums) {
        if (sum.held < sampled_[thread].calls.size()) continue;  // a thread's calls are in its own spans
        const auto mean_ns = static_cast<int64_t>(sum.length_ns / static_cast<double>(sum.held));
        Found& found = found_[thread];
        if (mean_ns < found.mean_ns)
            found = {thread_, mean_ns, found.mean_ns};
        else
            found.next_ns = std::min(found.next_ns, mean_ns);
    }
}

std::map<int64_t, int64_t> ThreadJoin::joined() {
    if (is_open_) end_thread();
    is_open_ = false;
    std::map<int64_t, int64_t> joined;
    std::set<int64_t> taken_twice;
    if (visits_ == kMostVisits) return joined;
    for (const auto& [thread, found] : found_) {
        if (own_.contains(thread) || sampled_[thread].calls.size() < kFewestCalls) continue;
        if (found.next_ns / kClearly < found.mean_ns) continue;
        if (!joined.emplace(found.thread, thread).second) taken_twice.insert(found.thread);
    }
    for (const int64_t thread : taken_twice) joined.erase(thread);
    return joined;
}

void HostFill::other(const HostSpan& span) {
    if (others_.size() == kMostOthers) is_too_much_ = true;
    if (is_too_much_)
        others_.clear();  // of a part it would be wrong
    else
        others_.push_back(span);
}

void HostFill::own(const HostSpan& span) {
    if (is_open_ && span.thread != thread_) end_thread();
    thread_ = span.thread;
    is_open_ = true;
    fill_until(span.start_ns);
    give_(span);
    at_ns_ = span.end_ns;
}

void HostFill::end_thread() {
    if (is_open_) fill_until(INT64_MAX);
    is_open_ = false;
    next_ = 0;
    at_ns_ = INT64_MIN;
}

void HostFill::alone(int64_t thread) {
    thread_ = thread;
    is_open_ = true;
    end_thread();
}

void HostFill::fill_until(int64_t until_ns) {
    at_ns_ = std::max(at_ns_, calls_.start_ns);
    const int64_t most_ns = std::min(until_ns, calls_.end_ns);
    for (; next_ < others_.size() && others_[next_].start_ns < until_ns && given_ < kMostOthers; ++next_) {
        const HostSpan& other = others_[next_];
        const int64_t from_ns = std::max(at_ns_, other.start_ns), end_ns = std::min(most_ns, other.end_ns);
        if (end_ns > from_ns) give_({thread_, from_ns, end_ns, other.inside, other.stage}), ++given_;
        if (other.end_ns > until_ns) break;  // it goes on behind what is the thread's own
    }
}

}  // namespace gpushim::analysis
