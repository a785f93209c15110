// Operations a second of each GPU by the matrix products that cuBLAS and cuBLASLt were asked for, of the
// steps that were asked for: a lower bound, because other kernels' are not counted. One thread.
#pragma once

#include <optional>
#include <string>

#include "facts.h"
#include "source.h"

namespace gpushim::analysis {

struct ProductRate {
    std::optional<double> tflops, mfu;
    std::optional<double> covered_share;  // of the time of matrix products and convolutions
    std::string why_no_rate, why_no_share, why_no_covered;

    // "at least 27.5 TFLOP/s per GPU, MFU 8.8 %", and what follows it; empty: not known.
    std::string text(const std::string& peak) const;
    void tell(Facts& facts) const;
};

ProductRate product_rate(const ReportSource& source);

}  // namespace gpushim::analysis
