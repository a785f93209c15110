#include "kineto_names.h"

#include "../host_words.h"

namespace gpushim::analysis {

namespace {

struct Category {
    std::string_view name;
    KinetoKind kind;
};
// Those with capitals were written before PyTorch 1.12.
constexpr Category kCategories[] = {
    {"cpu_op", KinetoKind::cpu_op},
    {"kernel", KinetoKind::kernel},
    {"cuda_runtime", KinetoKind::runtime_call},
    {"cuda_driver", KinetoKind::driver_call},
    {"python_function", KinetoKind::python_function},
    {"cpu_instant_event", KinetoKind::memory},
    {"gpu_memcpy", KinetoKind::copy},
    {"gpu_memset", KinetoKind::set},
    {"user_annotation", KinetoKind::annotation},
    {"gpu_user_annotation", KinetoKind::gpu_annotation},
    {"overhead", KinetoKind::overhead},
    {"cuda_sync", KinetoKind::gpu_sync},
    {"nccl", KinetoKind::runtime_call},  // our own exports: calls of NCCL
    {"host_gap", KinetoKind::host_gap},
    {"timed_window", KinetoKind::timed_window},
    {"Operator", KinetoKind::cpu_op},
    {"Kernel", KinetoKind::kernel},
    {"Memcpy", KinetoKind::copy},
    {"Memset", KinetoKind::set},
    {"Runtime", KinetoKind::runtime_call},
    {"Python", KinetoKind::python_function},
};

constexpr std::string_view kKindNames[] = {
    "kernel",          "gpu_memcpy",          "gpu_memset", "cuda_runtime",    "cuda_driver",
    "user_annotation", "gpu_user_annotation", "cpu_op",     "python_function", "memory",
    "overhead",        "cuda_sync",           "host_gap",   "timed_window",    "process_name",
    "thread_name",
};
static_assert(std::size(kKindNames) == static_cast<size_t>(KinetoKind::kCount));

template <class Meaning>
struct Word {
    std::string_view text;
    Meaning meaning;
};
// To and from arrays counts as device: that is where they are.
constexpr Word<KinetoDirection> kDirections[] = {
    {"HtoD", KinetoDirection::h2d}, {"HtoA", KinetoDirection::h2d}, {"DtoH", KinetoDirection::d2h},
    {"AtoH", KinetoDirection::d2h}, {"DtoD", KinetoDirection::d2d}, {"AtoD", KinetoDirection::d2d},
    {"DtoA", KinetoDirection::d2d}, {"AtoA", KinetoDirection::d2d}, {"HtoH", KinetoDirection::h2h},
    {"PtoP", KinetoDirection::p2p},
};
constexpr Word<KinetoMemory> kMemories[] = {
    {"Pageable", KinetoMemory::pageable},      {"Pinned", KinetoMemory::pinned},
    {"Device", KinetoMemory::device},          {"Array", KinetoMemory::array},
    {"Managed", KinetoMemory::managed},        {"Device Static", KinetoMemory::device},
    {"Managed Static", KinetoMemory::managed},
};

template <class Meaning, size_t n>
Meaning meaning_of(std::string_view text, const Word<Meaning> (&words)[n]) {
    for (const auto& word : words)
        if (word.text == text) return word.meaning;
    return Meaning::unknown;
}

// What stands in "a (what)".
std::string_view in_brackets(std::string_view name) {
    const size_t open = name.find('('), close = name.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
    return name.substr(open + 1, close - open - 1);
}

}  // namespace

std::string_view kineto_kind_name(KinetoKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::optional<KinetoKind> kineto_kind(std::string_view category, std::string_view name) {
    for (const Category& known : kCategories) {
        if (known.name != category) continue;
        if (known.kind == KinetoKind::memory && name != "[memory]") return {};
        // Old traces have marks among the operators.
        return known.kind == KinetoKind::cpu_op && is_mark(name) ? KinetoKind::annotation : known.kind;
    }
    return {};
}

void name_tells_memory(KinetoEvent& event) {
    constexpr std::string_view kCopy = "Memcpy ", kArrow = " -> ";
    if (event.kind != KinetoKind::set && event.kind != KinetoKind::copy) return;
    const std::string_view memories = in_brackets(event.name);
    if (event.kind == KinetoKind::set) event.to_memory = meaning_of(memories, kMemories);
    if (event.kind != KinetoKind::copy || !event.name.starts_with(kCopy)) return;
    event.direction = meaning_of(event.name.substr(kCopy.size(), 4), kDirections);
    const size_t arrow = memories.find(kArrow);
    if (arrow == std::string_view::npos) return;
    event.from_memory = meaning_of(memories.substr(0, arrow), kMemories);
    event.to_memory = meaning_of(memories.substr(arrow + kArrow.size()), kMemories);
}

}  // namespace gpushim::analysis
