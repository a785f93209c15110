// How fast rows of a trace's launches and of their device times are read, in millions of both a second of the
// processor: from its pages, by a statement, and as calls. rows_read TRACE
#include "analysis/sqlite/number_rows.h"
#include "analysis/trace/timeline.h"

#include <cstdio>
#include <ctime>
#include <functional>

using namespace gpushim::analysis;

namespace {

const std::vector<std::string> kLaunch = {"dur_ns",   "thread_id", "stream_id",
                                          "group_id", "shape_id",  "flags"};
const std::vector<std::string> kDevice = {"start_offset_ns", "dur_ns", "level_error_id"};
int64_t sum = 0;  // of what was read, so that it is

int64_t from_pages(const Database& base, const std::string& table, const std::vector<std::string>& columns) {
    NumberRows rows(base, table, "enter_ns", columns);
    NumberRow row;
    int64_t count = 0;
    for (; rows.next(row); ++count) sum += row.key + row.number(0);
    return rows.is_from_pages() ? count : 0;
}

int64_t by_statement(const Database& base, const std::string& table,
                     const std::vector<std::string>& columns) {
    std::string sql = "SELECT enter_ns";
    for (const std::string& column : columns) sql += ", " + column;
    Query rows = base.prepare(sql + " FROM " + table + " ORDER BY enter_ns");
    int64_t count = 0;
    for (; rows.step(); ++count)
        for (int i = 0; i < rows.columns(); ++i) sum += rows.number(i);
    return count;
}

void print(const char* what, const std::function<int64_t()>& read) {
    const auto from = std::clock();
    const int64_t count = read();
    const double took_s = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
    std::printf("%s %.3f\n", what, static_cast<double>(count) / took_s / 1e6);
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return 2;
    Trace trace = {words[1], Database(words[1]), INT64_MAX, {}, {}, "", "", "", 0, ""};
    const auto both = [&](auto read) {
        return [&, read] {
            return read(trace.base, "launch", kLaunch) + read(trace.base, "launch_device", kDevice);
        };
    };
    print("statement", both(by_statement));
    print("pages", both(from_pages));
    print("calls", [&] {
        Timeline timeline(trace);
        Call call;
        int64_t calls = 0;
        for (; timeline.next(call); ++calls) sum += call.times.end_ns;
        return calls;
    });
    return sum == 0;
}
