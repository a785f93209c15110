// Where every event went, from pages and in SQL.
#include "analysis/trace/ledger.h"

#include <catch2/catch.hpp>

#include "analysis/process/temporary.h"
#include "analysis/sqlite/new_database.h"
#include "shim/sqlite/schema.h"

namespace ledger_test {

using namespace gpushim::analysis;

namespace {

struct TraceFile {
    TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "trace.db";

    explicit TraceFile(const std::string& rows) {
        NewDatabase base(path);
        for (const char* part : gpushim_schema) base.run(part);
        base.run(rows);
        base.move_to_place();
    }
};

// Of each fate some, in each kind of table; a sync stands for five calls.
constexpr const char* kRows =
    "INSERT INTO launch (enter_ns, flags) VALUES (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (6, 12), (7, NULL);"
    "INSERT INTO sync (enter_ns, calls, flags) VALUES (1, 5, 0), (2, 5, 4), (3, 5, 8);"
    "INSERT INTO call (enter_ns, flags) VALUES (1, 0), (2, 8);"
    "INSERT INTO marker (enter_ns, kind, flags) VALUES (1, 'mark', 0);"
    "INSERT INTO memory (enter_ns, flags) VALUES (1, 4);";

}  // namespace

TEST_CASE("rows that are counted are those that the view counts", "[ledger]") {
    const TraceFile file(kRows);
    const Database base(file.path);
    const Ledger ledger = ledger_of(base);
    CHECK(ledger == ledger_in_sql(base));
    CHECK(ledger.recorded == 3 + 5 + 1 + 1);
    CHECK(ledger.recovered == 1 + 5 + 1);
    CHECK(ledger.unfinished == 2 + 5 + 1);
}

TEST_CASE("a view of other words is asked", "[ledger]") {
    const TraceFile file(std::string(kRows) +
                         "DROP VIEW v_ledger; CREATE VIEW v_ledger AS SELECT 6 AS produced, 5 AS recorded,"
                         " 4 AS recovered, 3 AS unfinished, 2 AS dropped, 1 AS unknown");
    CHECK(ledger_of(Database(file.path)) == Ledger{6, 5, 4, 3, 2, 1});
}

TEST_CASE("an empty trace has lost nothing", "[ledger]") {
    const TraceFile file("");
    const Database base(file.path);
    CHECK(ledger_of(base) == Ledger{});
    CHECK(ledger_in_sql(base) == Ledger{});
}

}  // namespace ledger_test
