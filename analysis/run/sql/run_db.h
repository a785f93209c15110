// The database of one run while it is written: summaries of all its traces. Its tables, what is derived from
// them and its views are the files of sql/. add() from any thread, the rest from one.
#pragma once

#include <condition_variable>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../sqlite/database.h"
#include "../../sqlite/new_database.h"
#include "written_gaps.h"

namespace gpushim::analysis {

class CountedSteps;

constexpr int kRunSchema = 18;

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
    void add_some(const char* table, size_t columns, std::span<const Value> rows);
    // The newest rows of `gap`; the number of the first is put in here.
    void keep(WrittenGaps gaps);
    // What follows from what each rank has written, before what lies between ranks. Once.
    void end_ranks();
    // What follows from the rows; then their views can be read.
    CountedSteps derive();
    void finish();  // derives where that was not done, and moves it into its place

    std::set<int64_t> numbers(const char* query) const;  // its first column
    void run(const char* statements) { made_.run(statements); }
    sqlite3* raw() const { return made_.raw(); }

  private:
    void run_files(std::string_view folder);
    NewDatabase made_;
    std::mutex lock_;
    std::condition_variable turn_ended_;
    std::set<int64_t> ended_;  // turns, ahead of turn_
    int64_t turn_ = 0;
    bool ranks_ended_ = false, derived_ = false;
    std::vector<WrittenGaps> gaps_;
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

    void add(std::initializer_list<Value> row) {
        columns_ = row.size();
        rows_.insert(rows_.end(), row);
        if (rows_.size() >= kAtOnce * columns_) end();
    }
    void end() {
        if (rows_.empty()) return;
        std::vector<Value> rows;
        rows.swap(rows_);  // those that are refused are told of: they are not forgotten
        run_.add_some(table_, columns_, rows);
        rows.clear();
        rows_.swap(rows);  // its memory
    }

  private:
    static constexpr size_t kAtOnce = 16;
    RunDb& run_;
    const char* table_;
    size_t columns_ = 0;
    std::vector<Value> rows_;  // value by value
};

inline Value maybe(const std::optional<int64_t>& value) { return value ? Value(*value) : Value(nullptr); }
inline Value maybe(const std::optional<double>& value) { return value ? Value(*value) : Value(nullptr); }

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
