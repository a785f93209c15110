#include "kernel_names.h"

#include "../text/escape.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLongestFull = 8192;  // columns: templates within templates have some thousand
constexpr size_t kMostOfAll =
    200'000;  // bytes; those that take the least time are cut to what `shown` leaves

}  // namespace

KernelNames::KernelNames(const PageInput& input) {
    size_t bytes = 0;
    for (const Json& kernel : input.of("kernels").items()) {
        if (rows_.size() == kMostKernels) break;
        const std::string name = kernel["name"].words();
        Row row = {shown(kernel["short_name"].words()), shortened(for_terminal(name), kLongestFull)};
        const bool is_whole = bytes + row.full.size() <= kMostOfAll;
        if (!is_whole) row.full = shown(name);
        if (row.full == row.short_name) row.full.clear();
        bytes += row.full.size();
        if (is_whole && !row.full.empty()) whole_.emplace(name, rows_.size());
        rows_.push_back(std::move(row));
    }
}

std::string KernelNames::id_of(const ReportSource& source, const std::string& kernel) const {
    const auto found = whole_.find(source.json_name("kernel", kernel));
    return found == whole_.end() ? "" : id(found->second);
}

}  // namespace gpushim::analysis
