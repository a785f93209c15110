// Files of which there are very many: they rest while nobody reads them, and are read as if they did not.
#include "analysis/sqlite/connection.h"

#include "analysis/failure.h"
#include "analysis/process/temporary.h"
#include "analysis/sqlite/database.h"

#include <sqlite3.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace connection_test {

using namespace gpushim::analysis;
namespace fs = std::filesystem;

namespace {

constexpr size_t kMany = Connection::kMostOpen + 40;

void make(const fs::path& file, size_t number) {
    sqlite3* base = nullptr;
    REQUIRE(sqlite3_open(file.c_str(), &base) == SQLITE_OK);
    const std::string sql =
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);"
        "INSERT INTO t VALUES (1, " +
        std::to_string(number) + ")";
    REQUIRE(sqlite3_exec(base, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(base);
}

class Files {
  public:
    explicit Files(size_t count = kMany) {
        for (size_t i = 0; i < count; ++i) {
            make(place(i), i);
            all_.emplace_back(place(i));
            all_.back().may_rest();
        }
    }
    fs::path place(size_t i) const { return folder_.path() / (std::to_string(i) + ".db"); }
    Database& operator[](size_t i) { return all_[i]; }
    int64_t number_in(size_t i) const {
        Query query = all_[i].prepare("SELECT n FROM t");
        return query.step() ? query.number(0) : -1;
    }

  private:
    TemporaryFolder folder_;
    std::vector<Database> all_;
};

size_t descriptors() {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

}  // namespace

TEST_CASE("of very many files only some are open, and all can be read", "[connection]") {
    const size_t before = descriptors();
    Files files;
    CHECK(Connection::open_now() == Connection::kMostOpen);
    for (const size_t i : {size_t{0}, size_t{7}, kMany - 1, size_t{1}, size_t{7}})
        CHECK(files.number_in(i) == static_cast<int64_t>(i));
    for (size_t i = 0; i < kMany; ++i) CHECK(files.number_in(i) == static_cast<int64_t>(i));
    CHECK(Connection::open_now() == Connection::kMostOpen);
    CHECK(descriptors() <= before + Connection::kMostOpen);
    CHECK(files[0].has("t"));
    CHECK(files[0].plain_layout("t") != nullptr);
}

TEST_CASE("a file that is being read stays open", "[connection]") {
    Files files(2);
    Query query = files[0].prepare("SELECT n FROM t UNION ALL SELECT 100 FROM t");
    REQUIRE(query.step());
    Files others;
    CHECK(query.number(0) == 0);
    REQUIRE(query.step());
    CHECK(query.number(0) == 100);
}

TEST_CASE("a file that rested is opened in the same way", "[connection]") {
    Files files(1);
    files[0].set_up([](sqlite3* base) { sqlite3_limit(base, SQLITE_LIMIT_ATTACHED, 3); });
    Files others;
    CHECK(sqlite3_limit(files[0].raw(), SQLITE_LIMIT_ATTACHED, -1) == 3);
    CHECK_THROWS_AS(files[0].run("INSERT INTO t VALUES (2, 2)"), Failure);  // query_only
    Query trusted = files[0].prepare("PRAGMA trusted_schema");
    REQUIRE(trusted.step());
    CHECK(trusted.number(0) == 0);
}

TEST_CASE("a file that was replaced while it rested is refused", "[connection]") {
    Files files(1);
    Files others;
    make(files.place(0).string() + ".new", 5);
    fs::rename(files.place(0).string() + ".new", files.place(0));
    CHECK_THROWS_WITH(files.number_in(0), Catch::Contains("was replaced while it was read"));
}

TEST_CASE("threads read very many files at once", "[connection]") {
    Files files;
    std::atomic<size_t> wrong = 0;
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (size_t k = 0; k < 3 * kMany; ++k) {
                const size_t i = (k * (t + 1) * 7 + t) % kMany;
                if (files.number_in(i) != static_cast<int64_t>(i)) ++wrong;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(Connection::open_now() <= Connection::kMostOpen + threads.size());
}

}  // namespace connection_test
