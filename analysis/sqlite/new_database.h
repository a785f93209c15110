// A SQLite file that is made: beside its place, and moved there when it is whole, so whoever looks finds the
// old one or the new one. As fast as it goes, without a journal: whoever is interrupted leaves a file that
// nobody takes for one of ours. Every return code is checked; throws Failure with the file's name. One
// thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "../failure.h"
#include "../process/new_file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gpushim::analysis {

// A row that cannot stand beside those that are there: of it there is one already.
struct RowRefused : Failure {
    using Failure::Failure;
};

class NewDatabase {
  public:
    // `image`: its bytes as it begins (database_image.h); none: it begins empty.
    explicit NewDatabase(std::filesystem::path place, std::string_view image = {});
    ~NewDatabase();

    void run(const std::string& sql) const;
    // To bind a row of so many columns to; the same for each row of that table, until put_row.
    sqlite3_stmt* row_of(const char* table, size_t columns);
    // The same for so many rows at once, one behind the other: a third less work for each.
    sqlite3_stmt* rows_of(const char* table, size_t columns, size_t rows);
    void put_row(sqlite3_stmt* row) const;
    void check(int code) const;
    void move_to_place();

    sqlite3* raw() const { return base_.get(); }
    const NewFile& file() const { return made_; }
    std::string where() const { return place_.string(); }

  private:
    struct Close {
        void operator()(sqlite3* base) const;
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    void prepare(std::unique_ptr<sqlite3_stmt, Finalize>& insert, const char* table, size_t columns,
                 size_t rows) const;

    std::filesystem::path place_;
    NewFile made_;  // before the connection: SQLite's is closed first
    std::unique_ptr<sqlite3, Close> base_;
    using Inserts = std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>>;
    Inserts inserts_;  // by table, and rows
    Inserts::value_type* last_ = nullptr;
};

}  // namespace gpushim::analysis
