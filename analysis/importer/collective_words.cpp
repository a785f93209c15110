#include "collective_words.h"

#include <cctype>
#include <charconv>
#include <string>

#include "../kernel/kernel_class.h"

namespace gpushim::analysis {

namespace {

struct OpWord {
    std::string_view name, api;
};
constexpr OpWord kWords[] = {
#define WORD(api, name) {name, #api},
#include "collective_words.def"
#undef WORD
};

struct OperationApi {
    CommOperation operation;
    std::string_view api;
};
// Of a kernel that sends and receives its name does not say what was called.
constexpr OperationApi kOperationApis[] = {
    {CommOperation::all_reduce, "ncclAllReduce"},
    {CommOperation::all_gather, "ncclAllGather"},
    {CommOperation::reduce_scatter, "ncclReduceScatter"},
    {CommOperation::broadcast, "ncclBroadcast"},
    {CommOperation::reduce, "ncclReduce"},
    {CommOperation::all_to_all, "ncclAlltoAll"},
    {CommOperation::send_recv, "SendRecv"},
};
constexpr std::string_view kSomeCollective = "nccl";

struct TypeWord {
    std::string_view name;
    DataType type;
};
// In PyTorch's words; what has no type of NCCL's travels as bytes.
constexpr TypeWord kTypes[] = {
    {"float", {7, 4}},       {"bfloat16", {9, 2}},      {"half", {6, 2}},           {"double", {8, 8}},
    {"int", {2, 4}},         {"long", {4, 8}},          {"char", {0, 1}},           {"byte", {1, 1}},
    {"bool", {1, 1}},        {"short", {1, 2}},         {"float8_e4m3fn", {10, 1}}, {"float8_e5m2", {11, 1}},
    {"float32", {7, 4}},     {"float16", {6, 2}},       {"float64", {8, 8}},        {"int32", {2, 4}},
    {"int64", {4, 8}},       {"int8", {0, 1}},          {"uint8", {1, 1}},          {"uint32", {3, 4}},
    {"uint64", {5, 8}},      {"c10::half", {6, 2}},     {"c10::bfloat16", {9, 2}},  {"long int", {4, 8}},
    {"signed char", {0, 1}}, {"unsigned char", {1, 1}},
};

struct TypeOfPrecision {
    Precision precision;
    std::string_view type;
};
constexpr TypeOfPrecision kTypesOfPrecision[] = {
    {Precision::fp64, "float64"},  {Precision::fp32, "float32"}, {Precision::fp16, "float16"},
    {Precision::bf16, "bfloat16"}, {Precision::int8, "int8"},
};

std::string lower(std::string_view text, bool keeps_bars) {
    std::string made;
    for (const char c : text) {
        if (!keeps_bars && (c == '_' || c == ' ' || c == '-')) continue;
        made += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return made;
}

}  // namespace

std::string_view api_of_collective(std::string_view word) {
    constexpr std::string_view kNccl = "nccl:";
    if (word.starts_with(kNccl)) word.remove_prefix(kNccl.size());
    const std::string name = lower(word, false);
    for (const OpWord& known : kWords)
        if (known.name == name) return known.api;
    return {};
}

std::string_view api_of_kernel(std::string_view kernel) {
    const KernelClass facts = classify(kernel);
    if (facts.comm_source != CommSource::nccl) return {};
    for (const OperationApi& row : kOperationApis)
        if (row.operation == facts.comm_operation) return row.api;
    return kSomeCollective;
}

std::optional<DataType> type_of_kernel(std::string_view kernel) {
    const KernelClass facts = classify(kernel);
    const bool reduces = facts.comm_operation == CommOperation::all_reduce ||
                         facts.comm_operation == CommOperation::reduce_scatter ||
                         facts.comm_operation == CommOperation::reduce;
    for (const TypeOfPrecision& row : kTypesOfPrecision)
        if (reduces && facts.comm_source == CommSource::nccl && row.precision == facts.precision)
            return data_type(row.type);
    return {};
}

std::optional<DataType> data_type(std::string_view word) {
    const std::string name = lower(word, true);
    for (const TypeWord& known : kTypes)
        if (known.name == name) return known.type;
    return {};
}

std::optional<int64_t> count_passed(std::string_view api, std::optional<int64_t> in,
                                    std::optional<int64_t> out, std::optional<int64_t> ranks) {
    if (api == "ncclReduceScatter" || api == "ncclRecv") return out;
    if (api != "ncclAlltoAll") return in;
    if (in.value_or(-1) < 0 || ranks.value_or(0) <= 0) return {};
    return *in / *ranks;
}

std::vector<int64_t> ranks_in(std::string_view list) {
    std::vector<int64_t> ranks;
    if (list.size() < 2 || list.front() != '[' || list.back() != ']') return {};
    const char *at = list.data() + 1, *const end = list.data() + list.size() - 1;
    while (at < end) {
        int64_t rank = 0;
        const auto [next, error] = std::from_chars(at, end, rank);
        if (error != std::errc()) return {};
        ranks.push_back(rank);
        for (at = next; at < end && (*at == ',' || *at == ' '); ++at) {
        }
    }
    return ranks;
}

}  // namespace gpushim::analysis
