#include "alone.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpushim::analysis {

namespace {

// By GPU: what share of the time of copies of that kind those have that are large enough and come in steps.
std::map<int64_t, double> share_that_counts(const Situation& run, const KindOfCopy& kind) {
    std::map<int64_t, double> shares;
    Query row = run.ask(
        "SELECT gpu_id, sum(CASE WHEN max_bytes >= ?2 AND steps > 0 THEN blocks_kernels_ns ELSE 0 END) * 1.0"
        " / nullif(sum(blocks_kernels_ns), 0) FROM copy_stat WHERE kind = ?1 GROUP BY gpu_id");
    row.bind(1, std::string(kind.name));
    row.bind(2, kind.least_bytes);
    while (row.step()) shares[row.number(0)] = row.real(1);
    return shares;
}

}  // namespace

AloneInSteps::AloneInSteps(const Situation& run, const KindOfCopy& kind) {
    const std::map<int64_t, double> shares = share_that_counts(run, kind);
    if (std::none_of(shares.begin(), shares.end(), [](const auto& of) { return of.second > 0; })) return;
    Query row = run.ask("SELECT gpu_id, step, ns FROM activity WHERE classes = ?1");
    row.bind(1, kind.classes);
    while (row.step())
        if (const auto share = shares.find(row.number(0)); share != shares.end() && share->second > 0)
            ns_[{row.number(0), row.number(1)}] = share->second * row.real(2);
}

double AloneInSteps::ns(const GpuInStep& gpu) const {
    const auto found = ns_.find({gpu.gpu_id, gpu.step});
    return found == ns_.end() ? 0 : found->second;
}

void AloneInSteps::leave_out_what_is_usual(size_t steps) {
    for (auto first = ns_.begin(); first != ns_.end();) {
        const auto end = ns_.lower_bound({first->first.first + 1, INT64_MIN});
        std::vector<double> all;
        for (auto at = first; at != end; ++at) all.push_back(at->second);
        all.resize(std::max(all.size(), steps));  // there were none in the others
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
        std::nth_element(all.begin(), middle, all.end());
        for (; first != end; ++first) first->second = std::max(0.0, first->second - *middle);
    }
}

Hidden hidden(const Situation& run, const Factor& share, const std::function<double(const GpuInStep&)>& ns) {
    std::vector<std::pair<double, int64_t>> longest;  // of a step; its number
    Hidden is;
    run.what_if().each([&](const GpuInStep& gpu) {
        if (longest.empty() || longest.back().second != gpu.number) longest.emplace_back(0, gpu.number);
        longest.back().first = std::max(longest.back().first, ns(gpu));
    });
    is.gain = run.what_if().shorter([&](const GpuInStep& gpu) {
        const double its_ns = ns(gpu);
        return Gain{share.low * its_ns, share.high * its_ns};
    });
    is.where = some_steps(std::move(longest));
    return is;
}

}  // namespace gpushim::analysis
