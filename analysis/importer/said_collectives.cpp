#include "said_collectives.h"

#include <algorithm>
#include <charconv>

namespace gpushim::analysis {

void SaidCollectives::add(int64_t thread, int64_t start_ns, int64_t end_ns, int32_t collective) {
    if (count_ == kMost || end_ns <= start_ns) return;
    by_thread_[thread].push_back({start_ns, end_ns, collective});
    ++count_;
    are_sorted_ = false;
}

std::optional<int32_t> SaidCollectives::at(int64_t thread, int64_t ns) {
    constexpr int kDeepest = 8;  // ranges of collectives hardly lie in each other
    const auto found = by_thread_.find(thread);
    if (found == by_thread_.end()) return {};
    const auto is_before = [](const Range& a, const Range& b) { return a.start_ns < b.start_ns; };
    if (!are_sorted_)
        for (auto& [id, ranges] : by_thread_) std::stable_sort(ranges.begin(), ranges.end(), is_before);
    are_sorted_ = true;
    const std::vector<Range>& ranges = found->second;
    auto range = std::upper_bound(ranges.begin(), ranges.end(), ns,
                                  [](int64_t at_ns, const Range& one) { return at_ns < one.start_ns; });
    for (int depth = 0; depth < kDeepest && range != ranges.begin(); ++depth)
        if ((--range)->end_ns > ns) return range->collective;
    return {};
}

namespace {

// What stands between the brackets of each tensor.
template <class Take>
bool each_tensor(std::string_view list, const Take& take) {
    if (list.size() < 2 || list.front() != '[' || list.back() != ']') return false;
    list = list.substr(1, list.size() - 2);
    while (true) {
        const size_t from = list.find('[');
        if (from == std::string_view::npos) return true;
        const size_t until = list.find(']', from);
        if (until == std::string_view::npos || !take(list.substr(from + 1, until - from - 1))) return false;
        list.remove_prefix(until + 1);
    }
}

// No dimension is a scalar, or a list of tensors of which nothing is said.
std::optional<int64_t> product_of(std::string_view dimensions) {
    constexpr std::string_view kBetween = ", \n\t";
    int64_t product = 1;
    bool is_any = false;
    for (size_t at = 0; (at = dimensions.find_first_not_of(kBetween, at)) != std::string_view::npos;) {
        int64_t length = 0;
        const char* const end = dimensions.data() + dimensions.size();
        const auto [next, error] = std::from_chars(dimensions.data() + at, end, length);
        if (error != std::errc() || length < 0 || __builtin_mul_overflow(product, length, &product))
            return {};
        is_any = true;
        at = static_cast<size_t>(next - dimensions.data());
    }
    return is_any ? std::optional(product) : std::nullopt;
}

}  // namespace

std::optional<int64_t> elements_in(std::string_view dimensions) {
    int64_t sum = 0;
    bool is_any = false;
    const bool is_whole = each_tensor(dimensions, [&](std::string_view tensor) {
        const auto product = product_of(tensor);
        is_any = true;
        return product && !__builtin_add_overflow(sum, *product, &sum);
    });
    return is_whole && is_any ? std::optional(sum) : std::nullopt;
}

std::string_view type_in(std::string_view types) {
    std::string_view one;
    while (true) {
        const size_t from = types.find('"');
        if (from == std::string_view::npos) return one;
        const size_t until = types.find('"', from + 1);
        if (until == std::string_view::npos) return {};
        const std::string_view type = types.substr(from + 1, until - from - 1);
        if (!one.empty() && type != one) return {};
        one = type;
        types.remove_prefix(until + 1);
    }
}

}  // namespace gpushim::analysis
