// A file of a stranger, opened, and rows that are read from its pages instead of by SQLite: of a whole file
// they are SQLite's, of a damaged one nothing is read that does not belong to it. Its pages are small, so
// that a hundred rows are a tree.
#include "analysis/failure.h"
#include "analysis/sqlite/number_rows.h"
#include "analysis/sqlite/plain_tables.h"
#include "analysis/trace/work_bound.h"
#include "base.h"
#include "target.h"

namespace {

using namespace gpushim::analysis;

constexpr const char* kTables[] = {"launch", "copy", "launch_device", "sync", "host_gap"};

void sum(const Database& base, const char* table) {
    NumberRows rows(base, table, "enter_ns", {"dur_ns", "stream_id", "none", "flags", "bytes"});
    NumberRow row;
    uint64_t bytes = 0;
    while (rows.next(row))
        for (const char c : row.text) bytes += static_cast<unsigned char>(c);
    fuzz::require(bytes < uint64_t{1} << 40, "more text than there is");
}

void read(const std::string& file) {
    Database base(file);
    require_plain_tables(base);
    bound_work(base);
    for (const char* table : kTables) try {
            if (base.has(table)) sum(base, table);
        } catch (const Failure&) {
            // One table's pages say nothing of the others'.
        }
}

void read_pages(std::string_view script) {
    static fuzz::Base base("pages.db");
    static const fuzz::InputFile file("pages.db");
    file.write(base.patched(script));
    fuzz::may_fail(file.path(), read);
}

const fuzz::Registration kTarget({"pages", "a stranger's database: opened, and the pages of its tables",
                                  read_pages});

}  // namespace
