// The trace's SQLite file, and the only place of the shim where SQLite is known. Rows come as numbers in
// blocks (Rows) and go in by INSERT … SELECT from a virtual table over the block, one statement for a whole
// batch. Every return code passes through one check; the first failure throws DatabaseError, which Store
// catches. One thread at a time (SQLite is set to single-thread mode).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace gpushim::shim {

constexpr int64_t kNull = std::numeric_limits<int64_t>::min();

struct DatabaseError : std::runtime_error {
    DatabaseError(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
    bool needs_rollback() const;  // only a writer can read it: somebody was killed in the middle of writing
    int code_;
};

// Rows of one table that are not in the database yet. A column holds a number or kNull; columns named in
// `text_columns` (a bit for each) hold what text() returned.
class Rows {
  public:
    Rows(const char* table, int columns, uint32_t text_columns = 0)
        : table_(table), columns_(columns), text_columns_(text_columns) {}

    int64_t text(std::string_view text) {
        texts_.emplace_back(text);
        return static_cast<int64_t>(texts_.size()) - 1;
    }

    const char* table() const { return table_; }
    int columns() const { return columns_; }
    size_t count() const { return cells_.size() / static_cast<size_t>(columns_); }
    int64_t* row(size_t index) { return cells_.data() + index * static_cast<size_t>(columns_); }
    const int64_t* row(size_t index) const { return cells_.data() + index * static_cast<size_t>(columns_); }
    const std::string* text_of(int column, int64_t value) const {
        return (text_columns_ >> column & 1) != 0 ? &texts_[static_cast<size_t>(value)] : nullptr;
    }
    void clear() {
        cells_.clear();
        texts_.clear();
    }

  protected:
    std::vector<int64_t> cells_;

  private:
    const char* table_;
    int columns_;
    uint32_t text_columns_;
    std::vector<std::string> texts_;
};

template <int kColumns>
class RowsOf : public Rows {
  public:
    explicit RowsOf(const char* table, uint32_t text_columns = 0) : Rows(table, kColumns, text_columns) {}

    template <class... Values>
    void add(Values... values) {
        static_assert(sizeof...(Values) == kColumns);
        const size_t at = cells_.size();
        cells_.resize(at + kColumns);
        int64_t* cell = cells_.data() + at;
        ((*cell++ = static_cast<int64_t>(values)), ...);
    }
};

// A prepared statement; parameters and columns by position, parameters from 1.
class Statement {
  public:
    Statement(sqlite3* base, std::string_view sql);
    Statement& bind(int parameter, int64_t value);  // kNull: NULL
    Statement& bind(int parameter, std::string_view text);
    Statement& bind(int parameter, std::span<const uint64_t> blob);
    bool step();  // true: a row is there; false: done, and ready to be run again
    int64_t number(int column) const;
    std::string text(int column) const;
    std::vector<uint64_t> blob(int column) const;

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    sqlite3* base_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
  public:
    enum class Open { create, write, read };
    Database(const std::string& path, Open how);  // a new file is not synced
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    void run(const char* sql);  // may be several statements
    Statement prepare(std::string_view sql) { return Statement(base_.get(), sql); }

    // Binds the block to its table, for good: the statement reads whatever the block then holds.
    Statement insertion_of(Rows& rows);

    void begin(bool durable);  // durable: on disk when commit returns
    void commit();
    void rollback() noexcept;

  private:
    struct Close {
        void operator()(sqlite3* base) const;
    };
    std::unique_ptr<sqlite3, Close> base_;
    bool wal_ = false;
    bool durable_ = false;
};

// Whether SQLite's write-ahead log may be used there: not on file systems of other machines.
bool is_network_file_system(const char* path);

}  // namespace gpushim::shim
