// How a table of a database lies in trees of its file, for who writes them without SQL (row_trees): in one by
// row numbers that no column names, or WITHOUT ROWID in that of its key; and in those of its indices, by what
// compares byte by byte. Any thread that may use the database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

namespace gpushim::analysis {

struct TreeLayout {
    enum class Holds { numbers, reals, texts, all };  // as declared: other values become these, or stay
    struct Column {
        Holds holds;
        bool may_be_null;
    };
    struct Index {
        static constexpr size_t kRowNumber = SIZE_MAX;
        uint32_t root_page;
        std::vector<size_t> columns = {};  // its records have these of each row
        size_t key_columns = 0;            // in the first of which no two are alike
    };
    uint32_t root_page = 0;  // of rows by their numbers; 0: WITHOUT ROWID, all of it is in the first index
    std::vector<Column> columns = {};
    std::vector<Index> indices = {};
};

// None: there is no such table, or it is made in another way, or rows of it are checked or bring about
// others.
std::optional<TreeLayout> tree_layout(sqlite3* base, const std::string& where, const std::string& table);

}  // namespace gpushim::analysis
