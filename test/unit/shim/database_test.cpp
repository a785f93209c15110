#include "shim/database.h"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <new>

#include "failing_new.h"
#include "optional.h"
#include "shim/rows.h"
#include "trace.h"

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

TEST_CASE("the emptied journal of a life that ended early goes with the next opening", "[database]") {
    trace::Trace trace;
    const std::string path = trace.path() + ".early", journal = path + "-journal";
    const pid_t life = fork();
    if (life == 0) {
        Database base(path, Database::Open::create);
        base.run("CREATE TABLE one(a)");
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(life, &status, 0) == life);
    REQUIRE(std::filesystem::exists(journal));
    { const Database again(path, Database::Open::write); }
    CHECK_FALSE(std::filesystem::exists(journal));
    CHECK_FALSE(std::filesystem::exists(path + "-wal"));
}
