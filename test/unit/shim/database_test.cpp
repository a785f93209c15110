#include "shim/sqlite/database.h"

#include <sqlite3.h>

#include <new>

#include "failing_new.h"
#include "optional.h"
#include "shim/sqlite/rows.h"
#include "trace.h"

namespace database_test {

using namespace gpushim::shim;

// SQLite would keep pointers into frames that are gone.
TEST_CASE("no exception of ours goes through SQLite", "[database]") {
    if (!FailingNew::kWorks) {
        lacks("plain_build");  // a sanitizer has operators of its own in the place of those that fail
        return;
    }
    trace::Trace trace;
    Database base(trace.path(), Database::Open::write);
    base.run("CREATE TABLE wide(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)");
    Rows rows("wide", 24);
    bool has_failed = true;
    int by_sqlite = 0;
    for (uint64_t nth = 1; has_failed; ++nth) {
        const FailingNew failing(nth);
        try {
            base.insertion_of(rows).step();
        } catch (const DatabaseError&) {
            ++by_sqlite;  // what SQLite has called failed, and SQLite says so
        } catch (const std::bad_alloc&) {
        }
        has_failed = failing.has_failed();
        REQUIRE(nth < 1000);
    }
    CHECK(by_sqlite > 2);
    base.run("INSERT INTO wide(a) VALUES (1)");
}

}  // namespace database_test
