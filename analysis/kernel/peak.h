// How many floating-point operations a GPU can do in a second at most, by its name and the precision: the
// rows of peak.def, dense. None: no row is of exactly this GPU, or it has no such figure. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "kernel_class.h"

namespace gpushim::analysis {

[[nodiscard]] bool is_peak_known(std::string_view gpu_name);  // in any precision
[[nodiscard]] std::optional<double> peak_flops_per_s(std::string_view gpu_name, Precision precision);
// Where there is none: a simulated GPU has none in any data sheet.
[[nodiscard]] const char* why_no_peak(std::string_view gpu_name);

// By the word that name_of() gives; none: it gives no such word.
[[nodiscard]] std::optional<Precision> precision_named(std::string_view word);

struct PeakRow {
    std::string_view words;  // all of the name but who made it, and how much memory it has
    double fp64, fp32, tf32, fp16, bf16, fp8, fp4;  // TFLOP/s; 0: none
};
std::span<const PeakRow> peak_rows();

}  // namespace gpushim::analysis
