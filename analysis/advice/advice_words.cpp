#include "advice_words.h"

#include <stdexcept>
#include <utility>

namespace gpushim::analysis {

namespace {

constexpr AdviceRow kRows[] = {
#define ADVICE(key, who, text) {key, Who::who, text},
#include "advice.def"
#undef ADVICE
};

bool is_capital(const std::string& text, size_t at) {
    return at < text.size() && text[at] >= 'A' && text[at] <= 'Z';
}

}  // namespace

std::string in_words_of(const Ecosystem& program, std::string text) {
    constexpr std::string_view kCall = "cuda";
    constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
        {"CUDA graph", "HIP graph"},
        {"PYTORCH_NO_CUDA_", "PYTORCH_NO_HIP_"},
        {"PYTORCH_CUDA_", "PYTORCH_HIP_"},
        {"nccl-tests", "rccl-tests"},
        // Older versions only warn that they do not support it.
        {"expandable_segments:True", "expandable_segments:True (from PyTorch 2.11 and ROCm 7 on)"},
    };
    if (!program.hip) return text;
    for (const auto& [cuda, hip] : kOthers)
        for (size_t at = text.find(cuda); at != std::string::npos; at = text.find(cuda, at + hip.size()))
            text.replace(at, cuda.size(), hip);
    for (size_t at = text.find(kCall); at != std::string::npos; at = text.find(kCall, at + 1))
        if (is_capital(text, at + kCall.size())) text.replace(at, kCall.size(), "hip");
    return text;
}

std::span<const AdviceRow> advice_rows() { return kRows; }

std::string advice_for(const Ecosystem& program, std::initializer_list<std::string_view> keys) {
    std::string text;
    for (const std::string_view key : keys) {
        bool is_there = false;
        for (const AdviceRow& row : kRows) {
            if (row.key != key) continue;
            is_there = true;
            if (program.is(row.who)) text.append(text.empty() ? "" : " ").append(row.text);
        }
        if (!is_there) throw std::logic_error("no advice is called " + std::string(key));
    }
    return in_words_of(program, text);
}

}  // namespace gpushim::analysis
