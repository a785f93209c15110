#include "stats_report.h"

namespace gpushim::analysis {

std::string spread_in_ns(const std::string& value, const std::string& prefix) {
    const auto column = [&](const char* expression, const char* heading) {
        return std::string(expression) + " AS \"" + prefix + heading + " (ns)\"";
    };
    return column(("round(avg(" + value + "), 1)").c_str(), "Avg") + ", " +
           column(("round(median(" + value + "), 1)").c_str(), "Med") + ", " +
           column(("min(" + value + ")").c_str(), "Min") + ", " +
           column(("max(" + value + ")").c_str(), "Max") + ", " +
           column(("round(stdev(" + value + "), 1)").c_str(), "StdDev");
}

std::string spread_in_mb(const std::string& value) {
    std::string columns;
    for (const auto& [function, heading] :
         {std::pair("avg", "Avg"), {"median", "Med"}, {"min", "Min"}, {"max", "Max"}, {"stdev", "StdDev"}})
        columns += std::string(columns.empty() ? "" : ", ") + "round(" + function + "(" + value +
                   ") / 1e6, 3) AS \"" + heading + " (MB)\"";
    return columns;
}

std::vector<StatsReport> all_stats_reports() {
    std::vector<StatsReport> all = host_reports();
    for (StatsReport& report : gpu_reports()) all.push_back(std::move(report));
    for (StatsReport& report : rule_reports()) all.push_back(std::move(report));
    return all;
}

}  // namespace gpushim::analysis
