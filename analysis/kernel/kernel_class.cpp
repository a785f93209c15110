#include "kernel_class.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <string>

#include "plain_name.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLongestRead = 16384;  // a longer name has said what it is by then

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string comparable(std::string_view name) {
    const std::string plain = demangled(name);
    std::string text(own_name(plain).substr(0, kLongestRead));
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    // A library's name that holds a family's: most kernels of FBGEMM multiply nothing.
    constexpr std::string_view kNotAFamily = "fbgemm";
    for (size_t at; (at = text.find(kNotAFamily)) != std::string::npos;) text.erase(at, kNotAFamily.size());
    return text;
}

// Where `pattern` ends if it stands at `at`.
std::optional<size_t> matched(std::string_view text, size_t at, std::string_view pattern) {
    for (const char c : pattern) {
        if (at == text.size()) return {};
        if (c == '#') {
            if (!is_digit(text[at])) return {};
            while (at < text.size() && is_digit(text[at])) ++at;
        } else if (text[at++] != c) {
            return {};
        }
    }
    return at;
}

bool stands_as(Match match, std::string_view text, size_t begin, size_t end) {
    const bool left = begin == 0 || !is_alphanumeric(text[begin - 1]);
    const bool right = end == text.size() || !is_alphanumeric(text[end]);
    if (match == Match::begins) return begin == 0;
    if (match == Match::prefix) return left;
    return match == Match::contains || (left && right);
}

bool stands_in(std::string_view text, const NamePattern& pattern) {
    const std::string_view literal = pattern.text.substr(0, pattern.text.find('#'));
    for (size_t at = text.find(literal); at < text.size(); at = text.find(literal, at + 1)) {
        const auto end = matched(text, at, pattern.text);
        if (end && stands_as(pattern.match, text, at, *end)) return true;
        if (pattern.match == Match::begins) break;
    }
    return false;
}

bool matches(std::string_view text, const NamePattern& pattern) {
    return stands_in(text, pattern) && text.find(pattern.also) != std::string_view::npos;
}

// Calls `f` with each pair of facts; a precision and its text are one fact.
template <typename F>
void for_each_fact(KernelClass& known, const KernelClass& row, F f) {
    f(known.family, row.family);
    f(known.comm_operation, row.comm_operation);
    f(known.comm_source, row.comm_source);
    f(known.tensor_core, row.tensor_core);
    f(known.alignment, row.alignment);
    f(known.library, row.library);
    f(known.purpose, row.purpose);
    f(known.is_triton, row.is_triton);
    if (known.precision == Precision::unknown) known.mixed = row.mixed;
    f(known.precision, row.precision);
}

bool would_add(KernelClass known, const KernelClass& row) {
    bool adds = false;
    for_each_fact(known, row, [&adds](auto& fact, auto value) {
        adds |= value != decltype(value){} && fact == decltype(value){};
    });
    return adds;
}

void add(KernelClass& known, const KernelClass& row) {
    for_each_fact(known, row, [](auto& fact, auto value) {
        if (fact == decltype(value){}) fact = value;
    });
}

bool computes(CommOperation operation) {
    return operation == CommOperation::all_reduce || operation == CommOperation::reduce_scatter ||
           operation == CommOperation::reduce;
}

// Facts that only hold together with others.
void reconcile(KernelClass& known) {
    if (known.family != KernelFamily::comm) {
        known.comm_operation = CommOperation::none;
        known.comm_source = CommSource::none;
    } else {
        if (known.comm_operation == CommOperation::none) known.comm_operation = CommOperation::other;
        // NCCL moves everything as bytes and says so in the name: int8_t is not what the data is.
        if (!computes(known.comm_operation)) known.precision = Precision::unknown, known.mixed = {};
    }
    // Outside of tensor cores, and in fp64, reading one element at a time is the only form there is.
    if (known.tensor_core == TensorCore::no || known.precision == Precision::fp64)
        known.alignment = Alignment::unknown;
}

}  // namespace

KernelClass classify(std::string_view name) {
    const std::string text = comparable(name);
    KernelClass known;
    for (const NameRow& row : name_rows())
        if (would_add(known, row.facts) && matches(text, row.pattern)) add(known, row.facts);
    reconcile(known);
    return known;
}

namespace {

struct FamilyRow {
    std::string_view name;
    KernelGroup group;
    Products products;
};
constexpr FamilyRow kFamilies[] = {
    // As KernelFamily.
    {"other", KernelGroup::other, Products::perhaps},
    {"gemm", KernelGroup::gemm, Products::always},
    {"convolution", KernelGroup::convolution, Products::always},
    {"attention", KernelGroup::attention, Products::always},
    {"normalisation", KernelGroup::reduction, Products::never},
    {"softmax", KernelGroup::reduction, Products::never},
    {"elementwise", KernelGroup::elementwise, Products::never},
    {"reduction", KernelGroup::reduction, Products::never},
    {"optimizer", KernelGroup::elementwise, Products::never},
    {"layout_conversion", KernelGroup::memory, Products::never},
    {"fill", KernelGroup::memory, Products::never},
    {"copy", KernelGroup::memory, Products::never},
    {"embedding", KernelGroup::memory, Products::never},
    {"random", KernelGroup::elementwise, Products::never},
    {"sort", KernelGroup::other, Products::never},
    {"pooling", KernelGroup::reduction, Products::never},
    {"rnn", KernelGroup::other, Products::perhaps},
    {"sparse", KernelGroup::other, Products::perhaps},
    {"comm", KernelGroup::comm, Products::never},
    {"loss", KernelGroup::reduction, Products::never},
    {"concatenate", KernelGroup::memory, Products::never},
    {"split", KernelGroup::memory, Products::never},
};
static_assert(std::size(kFamilies) == static_cast<size_t>(KernelFamily::split) + 1);

}  // namespace

std::string_view name_of(KernelFamily family) { return kFamilies[static_cast<size_t>(family)].name; }
KernelGroup group_of(KernelFamily family) { return kFamilies[static_cast<size_t>(family)].group; }
Products products_of(KernelFamily family) { return kFamilies[static_cast<size_t>(family)].products; }
Products products_of(std::string_view family) {
    const auto* row = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const FamilyRow& one) { return one.name == family; });
    return row != std::end(kFamilies) ? row->products : Products::perhaps;
}
bool KernelClass::eligible() const { return products_of(family) == Products::always; }

std::string_view name_of(CommOperation operation) {
    constexpr std::string_view kNames[] = {"none",           "all_reduce", "all_gather",
                                           "reduce_scatter", "broadcast",  "reduce",
                                           "all_to_all",     "send_recv",  "other"};
    return kNames[static_cast<size_t>(operation)];
}

std::string_view name_of(CommSource source) {
    constexpr std::string_view kNames[] = {"none", "nccl", "custom"};
    return kNames[static_cast<size_t>(source)];
}

std::string_view name_of(Precision precision) {
    constexpr std::string_view kNames[] = {"unknown", "fp64", "fp32", "tf32", "fp16", "bf16",
                                           "fp8",     "int8", "int4", "fp4",  "mixed"};
    return kNames[static_cast<size_t>(precision)];
}

std::string_view name_of(TensorCore tensor_core) {
    constexpr std::string_view kNames[] = {"unknown", "yes", "no"};
    return kNames[static_cast<size_t>(tensor_core)];
}

std::string_view name_of(Alignment alignment) {
    constexpr std::string_view kNames[] = {"unknown", "aligned", "unaligned"};
    return kNames[static_cast<size_t>(alignment)];
}

std::string_view name_of(KernelLibrary library) {
    constexpr std::string_view kNames[] = {"unknown", "cublas",  "cudnn",      "cutlass",
                                           "triton",  "pytorch", "tensorflow", "xla",
                                           "cub",     "nccl",    "apex",       "flash_attention"};
    return kNames[static_cast<size_t>(library)];
}

}  // namespace gpushim::analysis
