#include "open_ranges.h"

#include <algorithm>

namespace gpushim::analysis {

void OpenRanges::push(int64_t thread, const Name& name) {
    std::vector<int32_t>& open = open_[thread];
    if (free_.empty()) {
        free_.push_back(static_cast<int32_t>(ranges_.size()));
        ranges_.emplace_back();
    }
    const int32_t added = free_.back();
    free_.pop_back();
    const bool is_again = std::any_of(open.begin(), open.end(), [&](int32_t outer) {
        return ranges_[static_cast<size_t>(outer)].name == name;
    });
    Range& range = ranges_[static_cast<size_t>(added)];
    range = {name, open.empty() ? kNone : open.back(), 1, !is_again};
    if (range.parent != kNone) ++ranges_[static_cast<size_t>(range.parent)].users;
    open.push_back(added);
}

// Ranges of two of NVTX's domains may overlap as they like: then not the innermost one ends, and those within
// it go on as new ones.
void OpenRanges::pop(int64_t thread, const Name& name) {
    std::vector<int32_t>& open = open_[thread];
    size_t at = open.size();
    while (at > 0 && ranges_[static_cast<size_t>(open[at - 1])].name != name) --at;
    if (at == 0) return;
    std::vector<Name> within;
    for (; open.size() >= at; open.pop_back()) {
        if (open.size() > at) within.push_back(ranges_[static_cast<size_t>(open.back())].name);
        release(open.back());
    }
    for (; !within.empty(); within.pop_back()) push(thread, within.back());
}

int32_t OpenRanges::launched(int64_t thread) {
    const auto open = open_.find(thread);
    if (open == open_.end() || open->second.empty()) return kNone;
    ++ranges_[static_cast<size_t>(open->second.back())].users;
    return open->second.back();
}

OpenRanges::OnGpu& OpenRanges::on(Range& range, size_t gpu) {
    for (OnGpu& one : range.on)
        if (one.gpu == gpu) return one;
    range.on.push_back({gpu, INT64_MAX, INT64_MIN, 0, gpus_[gpu].untimed, 0, 0, 0, 0, true});
    return range.on.back();
}

void OpenRanges::ran(int32_t in, size_t gpu, int64_t start_ns, int64_t end_ns) {
    Gpu& all = gpus_[gpu];
    if (all.covered_ns != INT64_MIN) all.idle_ns += std::max<int64_t>(0, start_ns - all.covered_ns);
    all.covered_ns = std::max(all.covered_ns, end_ns);
    for (int32_t i = in; i != kNone; i = ranges_[static_cast<size_t>(i)].parent) {
        Range& range = ranges_[static_cast<size_t>(i)];
        if (!range.counts) continue;
        OnGpu& of = on(range, gpu);
        ++of.operations;
        ++of.timed;
        of.sum_ns += end_ns - start_ns;
        if (of.first_ns == INT64_MAX)
            of.first_ns = start_ns;
        else
            of.idle_ns += all.idle_ns - of.idle_before_ns;
        of.idle_before_ns = all.idle_ns;
        of.last_end_ns = std::max(of.last_end_ns, end_ns);
        of.is_whole = of.is_whole && all.untimed == of.untimed_before;
    }
    if (in != kNone) release(in);
}

void OpenRanges::untimed(int32_t in, size_t gpu) {
    ++gpus_[gpu].untimed;
    for (int32_t i = in; i != kNone; i = ranges_[static_cast<size_t>(i)].parent) {
        Range& range = ranges_[static_cast<size_t>(i)];
        if (!range.counts) continue;
        OnGpu& of = on(range, gpu);
        ++of.operations;
        of.is_whole = false;
    }
    if (in != kNone) release(in);
}

void OpenRanges::release(int32_t number) {
    for (int32_t i = number; i != kNone;) {
        Range& range = ranges_[static_cast<size_t>(i)];
        if (--range.users > 0) return;
        count(range);
        const int32_t parent = range.parent;
        range = {};
        free_.push_back(i);
        i = parent;
    }
}

void OpenRanges::count(const Range& range) {
    for (const OnGpu& of : range.on) {
        RangeSums& sums = sums_[{of.gpu, range.name}];
        ++sums.ranges;
        sums.operations += of.operations;
        sums.timed += of.timed;
        sums.sum_ns += of.sum_ns;
        if (!of.is_whole || of.timed == 0) continue;
        ++sums.whole;
        sums.span_ns += of.last_end_ns - of.first_ns;
        sums.idle_ns += of.idle_ns;
    }
}

void OpenRanges::close_all() {
    for (auto& [thread, open] : open_) {
        while (!open.empty()) {
            const int32_t last = open.back();
            open.pop_back();
            release(last);
        }
    }
}

}  // namespace gpushim::analysis
