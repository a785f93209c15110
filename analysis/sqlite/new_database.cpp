#include "new_database.h"

#include <sqlite3.h>

namespace gpushim::analysis {

namespace fs = std::filesystem;

void NewDatabase::Close::operator()(sqlite3* base) const { sqlite3_close(base); }
void NewDatabase::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

NewDatabase::NewDatabase(fs::path place, std::string_view image) : place_(std::move(place)), made_(place_) {
    made_.write(0, image);
    sqlite3* base = nullptr;
    // Without SQLite's locks: nobody else reads it before it is in its place, and over a network they would
    // stand in the way of the one that says that we are alive.
    const int code =
        sqlite3_open_v2(made_.path().c_str(), &base,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, "unix-none");
    base_.reset(base);
    check(code);
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536");
}

NewDatabase::~NewDatabase() = default;

void NewDatabase::run(const std::string& sql) const {
    check(sqlite3_exec(base_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

void NewDatabase::prepare(std::unique_ptr<sqlite3_stmt, Finalize>& insert, const char* table, size_t columns,
                          size_t rows) const {
    std::string row = "(?";
    for (size_t i = 1; i < columns; ++i) row += ",?";
    std::string sql = "INSERT INTO \"" + std::string(table) + "\" VALUES " + row + ")";
    for (size_t i = 1; i < rows; ++i) sql += "," + row + ")";
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(base_.get(), sql.c_str(), -1, &statement, nullptr));
    insert.reset(statement);
}

sqlite3_stmt* NewDatabase::row_of(const char* table, size_t columns) {
    if (last_ == nullptr || last_->first != table) {  // most rows follow one of the same table
        const auto found = inserts_.find(std::string_view(table));
        last_ = found != inserts_.end() ? &*found : &*inserts_.try_emplace(table).first;
    }
    auto& insert = last_->second;
    if (!insert) prepare(insert, table, columns, 1);
    return insert.get();
}

sqlite3_stmt* NewDatabase::rows_of(const char* table, size_t columns, size_t rows) {
    auto& insert = inserts_[std::to_string(rows) + " of " + table];
    if (!insert) prepare(insert, table, columns, rows);
    return insert.get();
}

void NewDatabase::put_row(sqlite3_stmt* row) const {
    const int code = sqlite3_step(row);
    sqlite3_reset(row);
    if (code != SQLITE_DONE) check(code);
}

void NewDatabase::move_to_place() {
    last_ = nullptr;
    inserts_.clear();
    base_.reset();
    made_.move_to_place();
}

namespace {
// The file could not be written, which another place might do better.
bool is_of_the_place(int code) {
    switch (code & 0xff) {
        case SQLITE_FULL:
        case SQLITE_IOERR:
        case SQLITE_READONLY:
        case SQLITE_CANTOPEN:
            return true;
        default:
            return false;
    }
}
}  // namespace

void NewDatabase::check(int code) const {
    if (code == SQLITE_OK) return;
    const std::string what =
        place_.string() + ": " + (base_ ? sqlite3_errmsg(base_.get()) : sqlite3_errstr(code));
    if ((code & 0xff) == SQLITE_CONSTRAINT) throw RowRefused(what, kIncomplete);
    if (is_of_the_place(code)) throw Unwritable(what);
    throw Failure(what, kIncomplete);
}

}  // namespace gpushim::analysis
