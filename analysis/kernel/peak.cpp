#include "peak.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace gpushim::analysis {

namespace {

constexpr PeakRow kPeaks[] = {
#define PEAK(words, fp64, fp32, tf32, fp16, bf16, fp8, fp4) {words, fp64, fp32, tf32, fp16, bf16, fp8, fp4},
#include "peak.def"
#undef PEAK
};

// Sorted, in upper case: "NVIDIA A100-SXM4-80GB" is 80GB, A100, NVIDIA, SXM4.
std::vector<std::string> words_of_name(std::string_view text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0)
            words.back() += static_cast<char>(std::toupper(byte));
        else if (!words.back().empty())
            words.emplace_back();
    }
    if (words.back().empty()) words.pop_back();
    std::sort(words.begin(), words.end());
    return words;
}

bool is_amount_of_memory(const std::string& word) {
    const size_t digits = word.find_first_not_of("0123456789");
    return digits != 0 && digits != std::string::npos && word.substr(digits) == "GB";
}

// The words that say nothing of how fast it is.
bool is_beside(const std::string& word) {
    return word == "NVIDIA" || word == "TESLA" || word == "GEFORCE" || is_amount_of_memory(word);
}

const PeakRow* peak_row_of(std::string_view gpu_name) {
    std::vector<std::string> words = words_of_name(gpu_name);
    std::erase_if(words, is_beside);
    for (const PeakRow& row : kPeaks)
        if (words_of_name(row.words) == words) return &row;
    return nullptr;
}

double tflops_of(const PeakRow& row, Precision precision) {
    switch (precision) {
        case Precision::fp64:
            return row.fp64;
        case Precision::fp32:
            return row.fp32;
        case Precision::tf32:
            return row.tf32;
        case Precision::fp16:
            return row.fp16;
        case Precision::bf16:
            return row.bf16;
        case Precision::fp8:
            return row.fp8;
        case Precision::fp4:
            return row.fp4;
        default:
            return 0;  // whole numbers, and what is not known
    }
}

}  // namespace

std::span<const PeakRow> peak_rows() { return kPeaks; }

bool is_peak_known(std::string_view gpu_name) { return peak_row_of(gpu_name) != nullptr; }

const char* why_no_peak(std::string_view gpu_name) {
    if (gpu_name.starts_with("Simulated")) return "a simulated GPU has no peak";
    return is_peak_known(gpu_name) ? "the peak of this GPU in this precision is not known"
                                   : "the peak of a GPU of this name is not known";
}

std::optional<double> peak_flops_per_s(std::string_view gpu_name, Precision precision) {
    const PeakRow* const row = peak_row_of(gpu_name);
    const double tflops = row != nullptr ? tflops_of(*row, precision) : 0;
    return tflops > 0 ? std::optional(tflops * 1e12) : std::nullopt;
}

std::optional<Precision> precision_named(std::string_view word) {
    for (int i = 0; i <= static_cast<int>(Precision::mixed); ++i)
        if (name_of(static_cast<Precision>(i)) == word) return static_cast<Precision>(i);
    return {};
}

}  // namespace gpushim::analysis
