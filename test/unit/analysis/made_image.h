// The file of a database without rows, as bytes (analysis/sqlite/database_image.h).
#pragma once

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <string>

namespace gpushim::analysis {

inline std::string made_image(const std::string& sql) {
    sqlite3* base = nullptr;
    REQUIRE(sqlite3_open(":memory:", &base) == SQLITE_OK);
    REQUIRE(sqlite3_exec(base, ("PRAGMA page_size = 4096;" + sql).c_str(), nullptr, nullptr, nullptr) ==
            SQLITE_OK);
    sqlite3_int64 size = 0;
    unsigned char* const bytes = sqlite3_serialize(base, "main", &size, 0);
    std::string image(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    sqlite3_free(bytes);
    sqlite3_close(base);
    return image;
}

}  // namespace gpushim::analysis
