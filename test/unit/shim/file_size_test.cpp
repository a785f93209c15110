#include "shim/trace/file_size.h"

#include <sys/stat.h>

#include "trace.h"

namespace file_size_test {

using namespace trace;

namespace {

int64_t size_of(const std::string& path) {
    struct stat facts;
    return stat(path.c_str(), &facts) == 0 ? facts.st_size : 0;
}

// Rows of about a page each.
void fill(Database& base, int64_t pages) {
    base.begin(false);
    Statement row = base.prepare("INSERT INTO name VALUES (NULL, ?, NULL)");
    const std::string text(4000, 'x');
    for (int64_t i = 0; i < pages; ++i) row.bind(1, std::string_view(text)).step();
    base.commit();
}

struct Base : Trace {
    Base() : base((store_is_closed(), path()), Database::Open::write) {}
    bool store_is_closed() {
        close();
        return true;
    }
    bool fails_full(int64_t pages) {
        try {
            fill(base, pages);
        } catch (const DatabaseError& e) {
            base.rollback();
            return e.is_full();
        }
        return false;
    }
    std::string log() const { return path() + "-wal"; }
    Database base;
};

}  // namespace

TEST_CASE("a log is not written beyond its limit, and the transaction has not been", "[file_size]") {
    Base trace;
    REQUIRE(trace.base.has_log());
    Database::limit_log(256 * 1024);
    CHECK_FALSE(trace.fails_full(40));
    REQUIRE(trace.base.empty_log());
    CHECK(size_of(trace.log()) == 0);
    Database::limit_log(256 * 1024);
    CHECK(trace.fails_full(80));
    CHECK(size_of(trace.log()) <= 256 * 1024);
    CHECK(trace.ask("SELECT count(*) FROM name") == "40");
    REQUIRE(trace.base.empty_log());
    CHECK_FALSE(trace.fails_full(40));
}

TEST_CASE("a database gets no more pages than it may have", "[file_size]") {
    Base trace;
    const FileSize size(trace.base, trace.path(), {2 << 20, 0});
    CHECK(trace.fails_full(1000));
    CHECK_FALSE(trace.fails_full(100));
    CHECK(size_of(trace.path()) + size_of(trace.log()) <= 2 << 20);
}

TEST_CASE("the log stays small without a limit of the size, too", "[file_size]") {
    Base trace;
    FileSize size(trace.base, trace.path(), {0, 0});
    int64_t largest = 0;
    for (int i = 0; i < 40; ++i) {
        size.expect(300 * 4096);
        fill(trace.base, 250);
        largest = std::max(largest, size_of(trace.log()));
    }
    CHECK(largest > 1 << 20);
    CHECK(largest <= 16 << 20);
}

}  // namespace file_size_test
