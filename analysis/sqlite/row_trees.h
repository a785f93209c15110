// Rows of tables of a new database, straight into its pages while SQLite has it open and writes others
// (tree_writer). They come in order of their keys, and are in their tables behind settle(): until then nobody
// else reads or writes these tables. The first row that is out of order, or that SQLite would keep in another
// way, is left to SQLite, and so are all behind it, of all tables. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "new_database.h"
#include "plain_value.h"
#include "tree_layout.h"
#include "tree_writer.h"

namespace gpushim::analysis {

class RowTrees {
  public:
    static constexpr size_t kNoTree = SIZE_MAX;

    // `made`: it is in a transaction whenever rows are added; that one ends now and then, and another begins.
    explicit RowTrees(const NewDatabase& made) : made_(made), writer_(made.file()) {}

    // Stands for that table; kNoTree: it is SQLite's.
    size_t table(std::string_view name);
    // False: SQLite is to be given it, and finds all before it.
    bool add(size_t table, std::span<const PlainValue> row);
    bool has(std::string_view table) const { return !is_settled_ && found(table) < tables_.size(); }
    // The number of its newest row, 0: there is none. None: SQLite is to be asked.
    std::optional<int64_t> newest(std::string_view table) const;
    void settle();

  private:
    struct KeyValue {
        bool is_text = false;
        int64_t number = 0;
        std::string text = {};
    };
    struct Tree {
        size_t number;  // of writer_
        TreeLayout::Index of;
        bool is_by_number = false;
        NewRecord record = {};
        std::string_view row = {};        // as the record has it
        std::vector<KeyValue> last = {};  // key; none: it is empty
    };
    struct Table {
        std::string name;
        TreeLayout layout;
        int64_t newest = 0;
        std::vector<Tree> trees = {};
    };
    size_t found(std::string_view table) const;
    void add_trees(Table& table);
    static bool is_held(const Table& table, std::span<const PlainValue> row);
    static bool is_next(const Tree& tree, std::span<const PlainValue> row);
    static void keep_key(Tree& tree, std::span<const PlainValue> row);
    static void record_of(const Table& table, Tree& tree, std::span<const PlainValue> row);
    bool put(Table& table, std::span<const PlainValue> row);
    bool is_at_rest() const;
    template <class Work>
    void between_transactions(Work work);
    void put_waiting();

    static constexpr size_t kMostWaiting = 1024;  // pages: 4 MiB
    const NewDatabase& made_;
    TreeWriter writer_;
    std::vector<Table> tables_;
    size_t most_waiting_ = kMostWaiting;
    bool is_settled_ = false;
    std::exception_ptr failure_;  // of a transaction's end, or of what was written behind it
};

}  // namespace gpushim::analysis
