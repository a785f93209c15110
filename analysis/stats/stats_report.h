// A statistical report of Nsight Systems: the same name, columns, units and order of rows. Its SQL reads the
// plain tables of stats_source.h. Data: a report is one row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

enum class Wants : uint8_t { operations, calls, ranges, waits };

struct StatsReport {
    std::string_view name;
    const char* title;
    Wants wants;  // of stats_source.h; ranges come with the operations
    std::string sql;
    const char* view_of_run = nullptr;  // the same from a run database alone; null: it takes the traces
    const char* note = nullptr;         // what its rows are not; for people
};

// All there are, in the order in which they are printed.
std::vector<StatsReport> all_stats_reports();

// Of which they are made.
std::vector<StatsReport> gpu_reports();
std::vector<StatsReport> host_reports();
std::vector<StatsReport> rule_reports();

// Avg, Med, Min, Max and StdDev of an expression, as columns; their headings begin with `prefix`.
std::string spread_in_ns(const std::string& value, const std::string& prefix = "");
std::string spread_in_mb(const std::string& value);

}  // namespace gpushim::analysis
