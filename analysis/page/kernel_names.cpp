#include "kernel_names.h"

#include "../run/sql/kept_text.h"
#include "../text/escape.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLongestFull = 8192;   // columns: templates within templates have some thousand
constexpr size_t kMostOfAll = 200'000;  // bytes; of those that take the least time `shown` leaves a part

// Names of templates are full of letters that a page has to escape.
size_t bytes_on_page(const std::string& name) { return Markup(name).html().size(); }

// A longer name is cut in what the run has kept of a step.
std::string kept_part(const std::string& name) { return name.substr(0, kLongestKeptText); }

}  // namespace

KernelNames::KernelNames(const PageInput& input) {
    size_t bytes = 0;
    std::unordered_map<std::string, std::string> by_part;
    for (const Json& kernel : input.of("kernels").items()) {
        const std::string name = kernel["name"].words(), part = kept_part(name);
        const auto [first, is_new] = by_part.try_emplace(part, name);
        if (first->second != name) whole_.erase(part);  // of which of both a span is, is not known
        if (rows_.size() == kMostKernels) continue;
        Row row = {shown(kernel["short_name"].words()), shortened(for_terminal(name), kLongestFull)};
        const bool is_whole = bytes + bytes_on_page(row.full) <= kMostOfAll;
        if (!is_whole) row.full = shown(name);
        if (row.full == row.short_name) row.full.clear();
        bytes += bytes_on_page(row.full);
        if (is_new && is_whole && !row.full.empty()) whole_.emplace(part, rows_.size());
        rows_.push_back(std::move(row));
    }
}

std::string KernelNames::id_of(const ReportSource& source, const std::string& kernel) const {
    const auto found = whole_.find(kept_part(source.json_name("kernel", kernel)));
    return found == whole_.end() ? "" : id(found->second);
}

}  // namespace gpushim::analysis
