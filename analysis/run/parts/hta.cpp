#include "hta.h"

namespace gpushim::analysis {

namespace {

// By HtaSums::Category.
constexpr std::string_view kCategories[] = {"host_wait", "kernel_wait", "other"};

constexpr std::string_view kCommBegins[] = {"nccl", "hip", "hccl"};
constexpr std::string_view kCommContains[] = {"ncclKernel"};
constexpr std::string_view kOtherBegins[] = {"Stream Wait Event"};
constexpr std::string_view kOtherContains[] = {"Memcpy", "Memset", "dma", "Sync"};

template <size_t n>
bool begins_with_one(std::string_view name, const std::string_view (&texts)[n]) {
    return std::any_of(texts, texts + n, [&](std::string_view text) { return name.starts_with(text); });
}
template <size_t n>
bool contains_one(std::string_view name, const std::string_view (&texts)[n]) {
    return std::any_of(texts, texts + n,
                       [&](std::string_view text) { return name.find(text) != std::string_view::npos; });
}

}  // namespace

HtaKind hta_kind(std::string_view kernel) {
    if (begins_with_one(kernel, kCommBegins) || contains_one(kernel, kCommContains)) return HtaKind::comm;
    if (begins_with_one(kernel, kOtherBegins) || contains_one(kernel, kOtherContains)) return HtaKind::other;
    return HtaKind::compute;
}

void HtaSums::add_out_of_order(int64_t start_ns) {
    if (operations == 0) {
        last_start_ns_ = first_start_ns = last_end_ns = start_ns;
    } else {
        ++out_of_order;
        first_start_ns = std::min(first_start_ns, start_ns);
    }
}

// False: it is the first of its stream.
bool HtaSums::enter_stream(const HtaOperation& operation) {
    const auto [stream, is_first] = streams_.try_emplace(operation.stream, Stream{operation.end_ns, {}});
    last_stream_ = &*stream;
    return !is_first;
}

std::map<std::pair<int64_t, std::string_view>, HtaSums::Gap> HtaSums::gaps() const {
    std::map<std::pair<int64_t, std::string_view>, Gap> all;
    for (const auto& [number, stream] : streams_)
        for (size_t i = 0; i < stream.gaps.size(); ++i)
            if (stream.gaps[i].gaps != 0) all[{number, kCategories[i]}] = stream.gaps[i];
    return all;
}

}  // namespace gpushim::analysis
