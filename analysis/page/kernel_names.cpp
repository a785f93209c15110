#include "kernel_names.h"

#include "../run/sql/kept_text.h"
#include "../text/escape.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLongestFull = 8192;   // columns: templates within templates have some thousand
constexpr size_t kMostOfAll = 200'000;  // bytes; of those that take the least time `shown` leaves a part

// Names of templates are full of letters that a page has to escape.
size_t bytes_on_page(const std::string& name) { return Markup(name).html().size(); }

// Longer names are cut in what the run has kept of a step: names by what is left of them. Not those of which
// several begin alike, because which of them a span is, is not known.
std::unordered_map<std::string, std::string> cut_names(const Database& run) {
    std::unordered_map<std::string, std::string> whole;
    Query names = run.prepare("SELECT DISTINCT name FROM kernel WHERE length(CAST(name AS BLOB)) >= ?1");
    names.bind(1, static_cast<int64_t>(kLongestKeptText));
    while (names.step()) {
        const std::string name = names.text(0), kept = name.substr(0, kLongestKeptText);
        const auto [first, is_new] = whole.try_emplace(kept, name);
        if (!is_new) first->second = kept;
    }
    return whole;
}

}  // namespace

KernelNames::KernelNames(const PageInput& input) : cut_(cut_names(input.source.run)) {
    size_t bytes = 0;
    for (const Json& kernel : input.of("kernels").items()) {
        if (rows_.size() == kMostKernels) break;
        const std::string name = kernel["name"].words();
        Row row = {shown(kernel["short_name"].words()), shortened(for_terminal(name), kLongestFull)};
        const bool is_whole = bytes + bytes_on_page(row.full) <= kMostOfAll;
        if (!is_whole) row.full = shown(name);
        if (row.full == row.short_name) row.full.clear();
        bytes += bytes_on_page(row.full);
        if (is_whole && !row.full.empty()) whole_.emplace(name, rows_.size());
        rows_.push_back(std::move(row));
    }
}

const std::string& KernelNames::name_of(const std::string& kept) const {
    const auto found = cut_.find(kept);
    return found == cut_.end() ? kept : found->second;
}

std::string KernelNames::id_of(const ReportSource& source, const std::string& kept) const {
    const auto found = whole_.find(source.json_name("kernel", name_of(kept)));
    return found == whole_.end() ? "" : id(found->second);
}

}  // namespace gpushim::analysis
