#include "nsys_operators.h"

#include <algorithm>

#include "../decimal.h"

namespace gpushim::analysis {

namespace {

constexpr std::string_view kSequence = ", seq = ", kNumber = ", op_id = ";
constexpr std::string_view kBackward = "autograd::engine::evaluate_function: ";

std::optional<int64_t> number_behind(std::string_view text, std::string_view word) {
    const size_t at = text.find(word);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = text.substr(at + word.size());
    return integer(rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size())));
}

}  // namespace

std::optional<NsysOperator> operator_in(std::string_view range) {
    const auto sequence = number_behind(range, kSequence), number = number_behind(range, kNumber);
    if (!sequence && !number) return {};
    const size_t end = std::min(range.find(kSequence), range.find(kNumber));
    if (end == 0) return {};
    return NsysOperator{range.substr(0, end), sequence, range.starts_with(kBackward)};
}

void extend(SpanOfThread& spans, int64_t thread, Interval by) {
    const auto [found, is_new] = spans.try_emplace(thread, by);
    found->second = {std::min(found->second.start_ns, by.start_ns),
                     std::max(found->second.end_ns, by.end_ns)};
}

std::pair<Interval, Interval> untold_around(const Interval& operators, const Interval& calls) {
    return {{std::min(calls.start_ns, operators.start_ns - 1), operators.start_ns},
            {operators.end_ns, std::max(calls.end_ns, operators.end_ns + 1)}};
}

}  // namespace gpushim::analysis
