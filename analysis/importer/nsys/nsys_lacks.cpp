#include "nsys_lacks.h"

#include <algorithm>
#include <iterator>

#include "nsys_table.h"

namespace gpushim::analysis {

bool nsys_has_work(const Database& base) {
    constexpr const char* kWork[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                     "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
    return std::any_of(std::begin(kWork), std::end(kWork),
                       [&](const char* table) { return NsysTable(base, table, {"start"}).step(); });
}

std::string nsys_warning(const Database& base) {
    constexpr int64_t kWarning = 2;
    NsysTable rows(base, "DIAGNOSTIC_EVENT", {"severity", "text"});
    while (rows.step()) {
        const std::string text = rows.text(1);
        if (rows.number(0) >= kWarning && text.find("CUDA") != std::string::npos)
            return "; Nsight Systems warns: " + text.substr(0, text.find('\n'));
    }
    return {};
}

std::string nsys_missing_tables(const Database& base) {
    std::string missing;
    for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds"})
        if (!base.has(table)) missing += (missing.empty() ? "" : " and ") + std::string(table);
    return missing.empty() ? "" : "the export has no table " + missing;
}

}  // namespace gpushim::analysis
