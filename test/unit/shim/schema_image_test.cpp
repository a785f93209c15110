#include "shim/sqlite/schema_image.h"

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>

#include "shim/sqlite/schema.h"

namespace schema_image_test {

using namespace gpushim::shim;

namespace {

using Base = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;

Base made_by_sql() {
    sqlite3* base = nullptr;
    REQUIRE(sqlite3_open(":memory:", &base) == SQLITE_OK);
    for (const char* part : gpushim_schema)
        REQUIRE(sqlite3_exec(base, part, nullptr, nullptr, nullptr) == SQLITE_OK);
    return {base, sqlite3_close};
}

Base made_of(const std::string& bytes) {
    sqlite3* base = nullptr;
    REQUIRE(sqlite3_open(":memory:", &base) == SQLITE_OK);
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
    std::memcpy(copy, bytes.data(), bytes.size());
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    REQUIRE(sqlite3_deserialize(base, "main", copy, size, size, SQLITE_DESERIALIZE_FREEONCLOSE) == SQLITE_OK);
    return {base, sqlite3_close};
}

std::string asked(const Base& base, const char* query) {
    std::string found;
    const auto add = [](void* to, int count, char** texts, char**) {
        for (int i = 0; i < count; ++i)
            *static_cast<std::string*>(to) += std::string(texts[i] != nullptr ? texts[i] : "-") + "|";
        return 0;
    };
    REQUIRE(sqlite3_exec(base.get(), query, add, &found, nullptr) == SQLITE_OK);
    return found;
}

constexpr char kEverything[] = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name";
constexpr char kTables[] =
    "SELECT type, name, rootpage, sql FROM sqlite_master WHERE type <> 'view'"
    " ORDER BY type, name";

}  // namespace

TEST_CASE("the image of an empty trace is what the schema's SQL makes", "[schema]") {
    const Base sql = made_by_sql(), image = made_of(std::string(kSchemaImage.bytes));
    CHECK(asked(image, "PRAGMA integrity_check") == "ok|");
    CHECK(asked(image, kEverything) == asked(sql, kEverything));
    for (const char* fact :
         {"PRAGMA user_version", "PRAGMA page_size", "PRAGMA auto_vacuum", "PRAGMA encoding"})
        CHECK(asked(image, fact) == asked(sql, fact));
    CHECK(asked(image, "SELECT count(*) FROM meta") == "0|");
    CHECK(asked(image, "SELECT count(*) FROM v_ledger") == asked(sql, "SELECT count(*) FROM v_ledger"));
}

TEST_CASE("before its views the image has the same tables, of another state of the file", "[schema]") {
    const Base image = made_of(std::string(kSchemaImage.bytes));
    std::string before(kSchemaImage.bytes);
    hide_views(before.data(), before.size(), 0);
    const Base hidden = made_of(before);
    CHECK(asked(hidden, "SELECT count(*) FROM sqlite_master WHERE type = 'view'") == "0|");
    CHECK(asked(hidden, kTables) == asked(image, kTables));
    CHECK(asked(hidden, "PRAGMA schema_version") == asked(image, "PRAGMA schema_version"));
    // By these bytes a connection sees that what it remembers of the file is old.
    CHECK(before.substr(24, 4) != kSchemaImage.bytes.substr(24, 4));
    SECTION("also where only a part is read") {
        std::string some(kSchemaImage.bytes.substr(24, 16));
        hide_views(some.data(), some.size(), 24);
        CHECK(some == before.substr(24, 16));
    }
}

}  // namespace schema_image_test
