// A SQLite file that somebody else wrote, read and never changed: opened as a regular file only, with
// everything off that a hostile file could use. Every return code passes through one check, which throws
// Failure with the file's name. Any thread, a statement one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace gpushim::analysis {

class Connection;
class TemporaryFolder;
struct PlainLayout;

constexpr int64_t kRunApplication = 0x67707372;      // "gpsr": PRAGMA application_id of run databases
constexpr int64_t kSummaryApplication = 0x67707373;  // "gpss": of rank summaries

struct Blob {
    std::string bytes;
};
using Value = std::variant<std::nullptr_t, int64_t, double, std::string, Blob>;

// A prepared statement: `while (query.step()) query.number(0)`.
class Query {
  public:
    Query(sqlite3* base, const std::string& where, std::string_view sql, size_t* used = nullptr);

    void bind(int parameter, const Value& value);  // from 1
    bool step();
    void reset();  // to be asked again, with other parameters
    int columns() const;
    std::string column_name(int column) const;
    std::string column_type(int column) const;  // as declared; empty: an expression
    bool is_null(int column) const;
    int64_t number(int column) const;  // NULL: 0
    std::optional<int64_t> maybe(int column) const;
    std::optional<double> maybe_real(int column) const;
    double real(int column) const;
    std::string text(int column) const;  // NULL: empty
    Value value(int column) const;
    sqlite3_stmt* raw() const { return statement_.get(); }
    explicit operator bool() const { return statement_ != nullptr; }  // false: there was only white space

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    sqlite3* base_;
    std::string where_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
  public:
    explicit Database(const std::filesystem::path& path);  // read-only
    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    ~Database();
    static Database in_memory();

    Query prepare(std::string_view sql, size_t* used = nullptr) const;
    void run(const std::string& sql) const;
    int schema_version() const;  // 0: not one of ours
    // Of the first schema: host times only, no totals, no contents of graphs, and all rows.
    bool is_of_first_schema() const { return schema_version() < 2; }
    bool has(std::string_view table_or_view) const;
    std::set<std::string, std::less<>> columns_of(std::string_view table_or_view) const;
    // Null: there is no such table, it is made in another way, or something of the file lies beside it (a
    // -wal), so that its pages are not as they are there.
    const PlainLayout* plain_layout(const std::string& table) const;
    const std::string& where() const { return where_; }
    sqlite3* raw() const;  // of one that may rest: as long as somebody has a statement of it
    // What is done to the connection now and whenever it is opened again.
    void set_up(std::function<void(sqlite3*)> how);
    // As one of many (connection.h). Not of what is no file alone (it has a -wal, or is in memory).
    void may_rest();
    void forget_pages() const;  // that it keeps: they are read again when somebody asks for them

  private:
    struct Known {
        int version = 0;
        std::set<std::string, std::less<>> names;  // of tables and views
    };
    struct Layouts;
    Known look() const;

    Database() = default;
    void open(const std::string& name, int flags);

    std::string where_;
    bool is_one_file_ = false;
    std::optional<Known> known_;        // of one file: it is asked often, and nobody changes it
    std::shared_ptr<Layouts> layouts_;  // the same
    // A copy, where the file cannot be read in place; removed with this object. Behind the connection that
    // uses it.
    std::shared_ptr<const TemporaryFolder> copy_;
    std::unique_ptr<Connection> connection_;
};

}  // namespace gpushim::analysis
