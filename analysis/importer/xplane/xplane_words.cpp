#include "xplane_words.h"

#include <cctype>
#include <charconv>

namespace gpushim::analysis {

namespace {

constexpr std::string_view kGpu = "/device:GPU:", kStream = "Stream #", kThreads = "Host Threads/";

// The number that it begins with, which has to end where `rest` says.
std::optional<int64_t> leading_number(std::string_view text, std::string_view& rest) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return {};
    rest = text.substr(static_cast<size_t>(end - text.data()));
    return number;
}

std::optional<int64_t> whole_number(std::string_view text) {
    std::string_view rest;
    const auto number = leading_number(text, rest);
    return rest.empty() ? number : std::nullopt;
}

std::optional<std::array<int64_t, 3>> three_numbers(std::string_view text) {
    constexpr int64_t kMost = INT32_MAX;  // of a grid; more was never set
    std::array<int64_t, 3> numbers;
    for (size_t i = 0; i < numbers.size(); ++i) {
        std::string_view rest;
        const auto number = leading_number(text, rest);
        if (!number || *number < 1 || *number > kMost) return {};
        numbers[i] = *number;
        if (i + 1 < numbers.size() ? !rest.starts_with(',') : !rest.empty()) return {};
        text = rest.substr(rest.empty() ? 0 : 1);
    }
    return numbers;
}

struct NamedWork {
    std::string_view name;
    XplaneWork work;
    std::string_view call;  // of the driver that asks for it
    bool has_async = false;
};
constexpr NamedWork kNamedWorks[] = {
    {"MemcpyH2D", {XplaneKind::copy, 1}, "cuMemcpyHtoD", true},
    {"MemcpyD2H", {XplaneKind::copy, 2}, "cuMemcpyDtoH", true},
    {"MemcpyD2D", {XplaneKind::copy, 3}, "cuMemcpyDtoD", true},
    {"MemcpyP2P", {XplaneKind::copy, 4}, "cuMemcpyPeer", true},
    {"MemcpyH2H", {XplaneKind::copy, 5}, "cuMemcpy", true},
    {"MemcpyOther", {XplaneKind::copy, 0}, "cuMemcpy", true},
    {"Memset", {XplaneKind::set, 0}, "cuMemsetD8", true},
    {"CudaGraph", {XplaneKind::graph, 0}, "cuGraphLaunch"},
    {"MemoryAlloc", {XplaneKind::other, 0}, "cuMemAlloc"},
    {"MemoryFree", {XplaneKind::other, 0}, "cuMemFree"},
    {"MemoryResidency", {XplaneKind::other, 0}, "MemoryResidency"},
    {"Overhead", {XplaneKind::other, 0}, "Overhead"},
    {"Synchronization", {XplaneKind::other, 0}, "cuStreamSynchronize"},
    {"HostRegister", {XplaneKind::other, 0}, "cuMemHostRegister"},
    {"HostUnregister", {XplaneKind::other, 0}, "cuMemHostUnregister"},
};

const NamedWork* named_work(std::string_view name) {
    for (const NamedWork& named : kNamedWorks)
        if (name == named.name || (named.work.kind == XplaneKind::graph && name.starts_with(named.name)))
            return &named;
    return nullptr;
}

// cuLaunchKernel, cudaMalloc, hipModuleLaunchKernel, but no kernel: those are demangled or have no such
// prefix with a capital behind it.
bool is_call(std::string_view name) {
    for (const std::string_view prefix : {"cuda", "cu", "hip"})
        if (name.size() > prefix.size() && name.starts_with(prefix) &&
            std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0 &&
            name.find_first_of("(<:") == std::string_view::npos)
            return true;
    return false;
}

uint8_t memory_code(std::string_view kind) {
    constexpr std::pair<std::string_view, uint8_t> kKinds[] = {
        {"pageable", 1}, {"pinned", 2},        {"managed", 3}, {"managed_static", 3},
        {"device", 4},   {"device_static", 4}, {"array", 5}};
    for (const auto& [name, code] : kKinds)
        if (kind == name) return code;
    return 0;
}

void take_detail(std::string_view key, std::string_view value, XplaneDetails& details) {
    const auto number = whole_number(value);
    if (key == "grid") details.grid = three_numbers(value);
    if (key == "block") details.block = three_numbers(value);
    if (key == "size" || key == "num_bytes") details.bytes = number;
    if (key == "async") details.is_async = number;
    if (key == "kind_src") details.source = memory_code(value);
    if (key == "kind_dst") details.target = memory_code(value);
    const bool is_shared = key == "shm" || key == "static_shared" || key == "dynamic_shared";
    if (is_shared && number) details.shared_bytes = details.shared_bytes.value_or(0) + *number;
}

}  // namespace

std::optional<int64_t> gpu_of_plane(std::string_view plane) {
    return plane.starts_with(kGpu) ? whole_number(plane.substr(kGpu.size())) : std::nullopt;
}

bool is_plane_of_threads(std::string_view plane) {
    return plane.starts_with("/host:CPU") || plane.starts_with("/host:CUPTI") ||
           plane.starts_with("/host:ROCTRACER") || plane.starts_with("/host:python-tracer");
}

std::optional<int64_t> stream_of_line(std::string_view line) {
    std::string_view rest;
    if (!line.starts_with(kStream)) return {};
    const auto stream = leading_number(line.substr(kStream.size()), rest);
    return rest.empty() || rest.front() == '(' ? stream : std::nullopt;
}

std::optional<int64_t> thread_of_ranges(std::string_view line) {
    std::string_view rest;
    if (!line.starts_with(kThreads)) return {};
    const auto thread = leading_number(line.substr(kThreads.size()), rest);
    return rest == "/NVTX" ? thread : std::nullopt;
}

bool is_derived_line(int64_t id) {
    constexpr uint32_t kFirst = 0xdeadbeef, kCount = 512;
    const bool is_of_32_bits = id >> 32 == 0 || id >> 32 == -1;  // threads' are of 64
    return is_of_32_bits && static_cast<uint32_t>(id) - kFirst < kCount;
}

XplaneWork work_named(std::string_view name) {
    const NamedWork* named = named_work(name);
    return named != nullptr ? named->work : XplaneWork{};
}

XplaneDetails details_in(std::string_view text) {
    XplaneDetails details;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        const size_t colon = word.find(':');
        if (colon != std::string_view::npos)
            take_detail(word.substr(0, colon), word.substr(colon + 1), details);
    }
    return details;
}

std::string call_named(std::string_view event, bool may_wait) {
    const std::string_view own = event.substr(0, event.find(" (CudaGraph:"));
    if (is_call(own)) return std::string(own);
    const NamedWork* named = named_work(event);
    if (named == nullptr) return "cuLaunchKernel";
    return std::string(named->call) + (named->has_async && !may_wait ? "Async" : "");
}

}  // namespace gpushim::analysis
