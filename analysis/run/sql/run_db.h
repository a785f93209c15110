// The database of one run while it is written: summaries of all its traces. Its tables, what is derived from
// them and its views are the files of sql/. Threads of ranks write when it is their turn, and parts read it
// then, by its own connection: nobody else may do anything with it meanwhile. The rest from one thread.
// Rows that come in order go straight into its pages until somebody asks for what is written.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "../../sqlite/database.h"
#include "../../sqlite/new_database.h"
#include "../../sqlite/plain_value.h"
#include "../../sqlite/row_trees.h"
#include "written_steps.h"

namespace gpushim::analysis {

class CountedSteps;

constexpr int kRunSchema = 20;

class RunDb {
  public:
    explicit RunDb(std::filesystem::path place);

    // Ranks write one after the other, by number, so that analysing again gives each row the number it had.
    // wait_for_turn returns when all ranks before have ended theirs; who fails ends its turn, too.
    void wait_for_turn(int64_t rank_id);
    void end_turn(int64_t rank_id);

    // A row of that table, all its columns in order.
    void add(const char* table, std::initializer_list<Value> row);
    // Some rows of so many columns, one behind the other.
    void add_some(const char* table, size_t columns, std::span<const PlainValue> rows);
    // What rows about steps say as well, for those who go through all of them. Of a GPU, its rows of `gap`
    // are the newest; the number of the first is put in here.
    void keep(WrittenRank rank);
    void keep(WrittenGpu gpu);
    const WrittenRun& written() const { return written_; }  // when all have written
    void forget_written();                                  // its rows are other ones now
    // What follows from what each rank has written, before what lies between ranks. Once.
    void end_ranks();
    // What follows from the rows; then their views can be read, before some of which tables with what they
    // say stand until finish().
    CountedSteps derive();
    void finish();  // derives where that was not done, and moves it into its place

    std::set<int64_t> numbers(const char* query) const;  // its first column
    void run(const char* statements) {
        trees_.settle();
        made_.run(statements);
    }
    // All that is written can be read. Rows in order are SQLite's from then on.
    sqlite3* raw() const {
        trees_.settle();
        return made_.raw();
    }
    // For parts, when it is their turn: rows in order (RowsInOrder) are not there yet.
    sqlite3* raw_in_turn() const { return made_.raw(); }
    RowTrees& trees() { return trees_; }

  private:
    void run_files(std::string_view folder);
    int64_t last_gap();
    NewDatabase made_;
    mutable RowTrees trees_{made_};  // where rows stand is nothing that they say
    std::mutex lock_;
    std::condition_variable turn_ended_;
    std::set<int64_t> ended_;  // turns, ahead of turn_
    int64_t turn_ = 0;
    bool ranks_ended_ = false, derived_ = false;
    WrittenRun written_;
};

// Rows of one table, of which there are many: they reach it some at a time, which is a third less work for
// each. Others read them behind `end`. One thread.
class ManyRows {
  public:
    ManyRows(RunDb& run, const char* table) : run_(run), table_(table) {}
    // Rows that nobody ended would be missing in the run, and nothing would say so.
    ~ManyRows() {
        if (!rows_.empty() && std::uncaught_exceptions() == 0) std::terminate();
    }
    ManyRows(const ManyRows&) = delete;
    ManyRows& operator=(const ManyRows&) = delete;

    void add(std::initializer_list<PlainValue> row) {
        size_t bytes = 0;
        for (const PlainValue& cell : row) bytes += bytes_of(cell).size();
        if (texts_.capacity() - texts_.size() < bytes) make_room(bytes);
        columns_ = row.size();
        for (const PlainValue& cell : row) rows_.push_back(kept(cell));
        if (rows_.size() >= kAtOnce * columns_) end();
    }
    void end() {
        if (rows_.empty()) return;
        std::vector<PlainValue> rows;
        rows.swap(rows_);  // those that are refused are told of: they are not forgotten
        run_.add_some(table_, columns_, rows);
        rows.clear();
        rows_.swap(rows);  // its memory
        texts_.clear();
    }

  private:
    static constexpr size_t kAtOnce = 16, kTextBytes = 8192;

    // Texts that rows have been told do not move.
    void make_room(size_t bytes) {
        end();
        texts_.reserve(std::max(kTextBytes, bytes));
    }
    static std::string_view bytes_of(const PlainValue& cell) {
        if (const auto* text = std::get_if<std::string_view>(&cell)) return *text;
        const auto* blob = std::get_if<BlobView>(&cell);
        return blob == nullptr ? std::string_view() : blob->bytes;
    }
    PlainValue kept(const PlainValue& cell) {
        const bool is_text = std::holds_alternative<std::string_view>(cell);
        if (!is_text && !std::holds_alternative<BlobView>(cell)) return cell;
        const size_t from = texts_.size();
        texts_ += bytes_of(cell);
        const std::string_view here = std::string_view(texts_).substr(from);
        return is_text ? PlainValue(here) : PlainValue(BlobView{here});
    }

    RunDb& run_;
    const char* table_;
    size_t columns_ = 0;
    std::vector<PlainValue> rows_;  // value by value
    std::string texts_;             // of these, blobs as well
};

// The same for rows of ranks that come in order of their table's key: they go straight into its pages, which
// is a third of SQLite's work. What comes in another order, or after others were asked for, goes to SQLite.
class RowsInOrder {
  public:
    RowsInOrder(RunDb& run, const char* table)
        : trees_(run.trees()), number_(trees_.table(table)), rest_(run, table) {}
    void add(std::initializer_list<PlainValue> row) {
        if (!trees_.add(number_, {row.begin(), row.size()})) rest_.add(row);
    }
    void end() { rest_.end(); }

  private:
    RowTrees& trees_;
    size_t number_;
    ManyRows rest_;
};

inline Value maybe(const std::optional<int64_t>& value) { return value ? Value(*value) : Value(nullptr); }
inline Value maybe(const std::optional<double>& value) { return value ? Value(*value) : Value(nullptr); }
template <class Number>
PlainValue plain(const std::optional<Number>& value) {
    return value ? PlainValue(*value) : PlainValue(nullptr);
}

bool is_run(const Database& base);

// The files of sql/, in the order in which they are run: tables, temporary, ranks, views, fill, derive (both
// read views), and then what each file of analysis/metric comes to; each by name. Tables and views are run
// when gpushim is built (database_image.h).
struct SqlFile {
    const char* name;
    const char* text;
};
extern const SqlFile kRunSql[];
extern const size_t kRunSqlFiles;

}  // namespace gpushim::analysis
