// What kernels did of the matrix products that cuBLAS and cuBLASLt were asked for: operations and bytes of
// products with device times, and how fast that was. For sections that list kernels. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "../sqlite/database.h"
#include "facts.h"

namespace gpushim::analysis {

struct ProductFigures {
    int64_t products = 0;
    double flops = 0, ns = 0;  // ns: of all kernels of these products
    std::optional<double> bytes = 0.0;
    std::optional<double> peak_flops_per_s = {};  // of the GPUs that it ran on
    std::string why_no_peak = {};

    bool is_known() const { return products > 0 && ns > 0; }
    std::optional<double> flops_per_s() const;
    std::optional<double> bytes_per_s() const;
    void add(const ProductFigures& other);  // the peak stays as it is
};

class ProductRows {
  public:
    explicit ProductRows(const Database& run);
    bool empty() const { return by_kernel_.empty(); }
    ProductFigures of(const std::string& kernel) const;
    void tell(Facts& facts, const std::string& kernel) const;  // into an object about the kernel

  private:
    std::map<std::string, ProductFigures> by_kernel_;
};

}  // namespace gpushim::analysis
