// The trace's SQLite file, and the only place of the shim where SQLite is known. Rows come as numbers in
// blocks (Rows) and go in by INSERT … SELECT from a virtual table over the block, one statement for a whole
// batch. Every return code passes through one check; the first failure throws DatabaseError, which Store
// catches. SQL that is run here may use histogram_sum (histogram.h). One thread at a time (SQLite is set to
// single-thread mode).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rows.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gpushim::shim {

struct DatabaseError : std::runtime_error {
    DatabaseError(int code, const std::string& what);
    bool needs_rollback() const;    // only a writer can read it: somebody was killed in the middle of writing
    bool is_full() const;           // of the size it may have
    bool is_of_disk() const;        // there was no space on it, whatever failed by that
    bool is_busy() const;           // somebody else is at it
    bool is_there_already() const;  // a row of that key
    int code_;
    bool by_disk_;
};

// A statement, prepared when it is first bound or stepped: a short process uses few of them. Parameters and
// columns by position, parameters from 1.
class Statement {
  public:
    Statement(sqlite3* base, std::string_view sql) : base_(base), sql_(sql) {}
    Statement& bind(int parameter, int64_t value);  // kNull: NULL
    Statement& bind(int parameter, std::string_view text);
    Statement& bind(int parameter, std::span<const uint64_t> blob);
    Statement& bind(int parameter, std::span<const uint8_t> blob);  // empty: NULL
    Statement& bind(int parameter, Rows& block);                    // of new_rows(?); it outlives this
    bool step();  // true: a row is there; false: done, and ready to be run again
    int64_t number(int column) const;
    double real(int column) const;  // NULL: 0
    std::string text(int column) const;
    std::vector<uint64_t> blob(int column) const;

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    sqlite3_stmt* prepared();
    sqlite3* base_;
    std::string sql_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// How long a write-ahead log may get, and which one it is.
struct LogLimit {
    int descriptor = -1;
    int64_t bytes = INT64_MAX;
};

class Database {
  public:
    enum class Open { create, write, read };
    // `create`: from the image of an empty trace (schema_image.h), into an empty file or none. Until
    // use_log() that is a file which nobody has synced, and which has no log.
    Database(const std::string& path, Open how);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    void run(const char* sql);  // may be several statements
    Statement prepare(std::string_view sql) { return Statement(base_.get(), sql); }

    // Binds the block to its table, for good: the statement reads whatever the block then holds. A row that
    // cannot be there is an error, or it is left out.
    enum class Refused { fail, skip };
    Statement insertion_of(Rows& rows, Refused refused = Refused::fail);

    // It was made by this object: what is in it was put there since.
    bool is_new() const { return is_new_; }
    // For a file that is going to be written again and again. False: it has it already.
    bool use_log();

    void begin(bool durable);  // durable: on disk when commit returns
    // The last one of this file. Where it has no log yet, only now is anything of it put onto the disk.
    void begin_last();
    void commit();
    void rollback() noexcept;

    // The write-ahead log. It is emptied by whoever asks for it: not where somebody reads (false).
    bool has_log() const { return wal_; }
    bool empty_log();
    // What is more than that fails, and the transaction with it. Of one log at a time.
    static void limit_log(int64_t bytes);
    // Who writes two traces in turns keeps the other's limit meanwhile.
    static void exchange_log(LogLimit& with);
    void limit_pages(int64_t pages);

  private:
    struct Close {
        void operator()(sqlite3* base) const;
    };
    void begin_early();
    std::unique_ptr<sqlite3, Close> base_;
    bool is_new_ = false;
    bool is_on_network_ = false;
    bool is_settled_ = false;  // it has the log, or whatever there is in its place
    bool wal_ = false;
    bool durable_ = false;
};

}  // namespace gpushim::shim
