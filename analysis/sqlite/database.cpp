#include "database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "../failure.h"
#include "../process/temporary.h"
#include "check.h"
#include "connection.h"
#include "plain_layout.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);

// A disk that takes no more, its own or that of SQLite's temporary files: not a mistake in the question.
bool is_of_writing(int code) {
    return code == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC;
}

// While it lives no other thread changes what a connection says of its last failure.
class Held {
  public:
    explicit Held(sqlite3* base) : mutex_(sqlite3_db_mutex(base)) { sqlite3_mutex_enter(mutex_); }
    ~Held() { sqlite3_mutex_leave(mutex_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

  private:
    sqlite3_mutex* mutex_;  // null, which is allowed: one thread alone may ask
};

[[noreturn]] void fail_last(sqlite3* base, const std::string& where) {
    const Held held(base);
    const bool is_ours = is_of_writing(sqlite3_extended_errcode(base));
    fail(where, sqlite3_errmsg(base), is_ours ? kIncomplete : kUsage);
}

constexpr std::string_view kGzip = "\x1f\x8b";
constexpr size_t kReadVersion = 19;  // place in the header: 2 says that changes come by a -wal
struct Header {
    char bytes[kReadVersion + 1];
};

// A pipe or device is neither opened for long nor read: it may block, or never end.
Header require_database_file(const fs::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file < 0) fail(path.string(), strerror(errno));
    struct stat status;
    Header start = {};
    const bool is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    const bool is_base = is_file && pread(file, &start, sizeof start, 0) == sizeof start &&
                         std::string_view(start.bytes, kMagic.size()) == kMagic;
    close(file);
    if (!is_file) fail(path.string(), "not a regular file");
    if (status.st_size == 0) fail(path.string(), "empty");
    const bool is_packed = std::string_view(start.bytes, kGzip.size()) == kGzip;
    if (!is_base)
        fail(path.string(), is_packed ? "packed by gzip: gunzip it first" : "not a SQLite database");
    return start;
}

// "file:" with what SQLite would take for its own syntax escaped.
std::string uri_of(const fs::path& path, const char* options) {
    std::string uri = "file:";
    for (const char c : fs::absolute(path).string()) {
        if (c == '%' || c == '?' || c == '#') {
            char escaped[4];
            std::snprintf(escaped, sizeof escaped, "%%%02X", static_cast<unsigned char>(c));
            uri += escaped;
        } else {
            uri += c;
        }
    }
    return uri + "?" + options;
}

fs::path with_suffix(fs::path path, const char* suffix) { return path += suffix; }

std::shared_ptr<const TemporaryFolder> private_copy(const fs::path& path) {
    auto folder = std::make_shared<const TemporaryFolder>();
    fs::copy_file(path, folder->path() / "copy.db");
    fs::copy_file(with_suffix(path, "-wal"), folder->path() / "copy.db-wal");
    return folder;
}

}  // namespace

void Query::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);  // repeats the error that step() has told
}

struct Database::Layouts {
    explicit Layouts(const std::string& where) : layouts(where) {}
    std::mutex lock;
    PlainLayouts layouts;
    bool keeps_statement = true;  // for the next table; a connection that has one cannot rest
};

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

sqlite3* Database::raw() const {
    return connection_->with([](sqlite3* base) { return base; });
}

Query Database::prepare(std::string_view sql, size_t* used) const {
    return connection_->with([&](sqlite3* base) { return Query(base, where_, sql, used); });
}

void Database::open(const std::string& name, int flags) {
    connection_ = std::make_unique<Connection>(where_, name, flags);
}

void Database::set_up(std::function<void(sqlite3*)> how) { connection_->set_up(std::move(how)); }

void Database::may_rest() {
    if (!is_one_file_) return;
    layouts_->keeps_statement = false;
    connection_->may_rest();
}

void Database::forget_pages() const {
    connection_->if_open([](sqlite3* base) { sqlite3_db_release_memory(base); });
}

Database::Database(const fs::path& path) : where_(path.string()) {
    const bool by_wal = require_database_file(path).bytes[kReadVersion] == 2;
    std::error_code none;
    if (by_wal && !fs::exists(with_suffix(path, "-wal"), none)) {
        // Nobody writes it, and nothing of ours shall lie beside it: a reader of a -wal makes one, and leaves
        // it.
        open(uri_of(path, "immutable=1"), SQLITE_OPEN_READONLY);
        is_one_file_ = true;
    } else if (by_wal && access(path.parent_path().empty() ? "." : path.parent_path().c_str(), W_OK) != 0) {
        // SQLite may not make its -shm there.
        copy_ = private_copy(path);
        open(uri_of(copy_->path() / "copy.db", "mode=rw"), SQLITE_OPEN_READWRITE);
    } else {
        open(uri_of(path, "mode=ro"), SQLITE_OPEN_READONLY);
        is_one_file_ = !by_wal;
    }
    prepare("SELECT count(*) FROM sqlite_schema").step();
    set_up([where = where_](sqlite3* base) { run_on(base, where, "PRAGMA query_only = ON"); });
    if (!is_one_file_) return;
    known_ = look();
    layouts_ = std::make_shared<Layouts>(where_);
}

Database Database::in_memory() {
    Database database;
    database.open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    return database;
}

void Database::run(const std::string& sql) const {
    connection_->with([&](sqlite3* base) { run_on(base, where_, sql); });
}

Database::Known Database::look() const {
    Known known;
    Query version = prepare("PRAGMA user_version");
    if (version.step()) known.version = static_cast<int>(version.number(0));
    Query name = prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')");
    while (name.step()) known.names.insert(name.text(0));
    return known;
}

int Database::schema_version() const {
    if (known_) return has("ring_commit") ? known_->version : 0;
    Query query = prepare("PRAGMA user_version");
    return query.step() && has("ring_commit") ? static_cast<int>(query.number(0)) : 0;
}

bool Database::has(std::string_view table_or_view) const {
    if (known_) return known_->names.contains(table_or_view);
    Query query = prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1 AND type IN ('table', 'view')");
    query.bind(1, std::string(table_or_view));
    return query.step();
}

std::set<std::string, std::less<>> Database::columns_of(std::string_view table_or_view) const {
    std::set<std::string, std::less<>> all;
    Query query = prepare("SELECT name FROM pragma_table_info(?1)");
    query.bind(1, std::string(table_or_view));
    while (query.step()) all.insert(query.text(0));
    return all;
}

const PlainLayout* Database::plain_layout(const std::string& table) const {
    if (!layouts_) return nullptr;
    return connection_->with([&](sqlite3* base) {
        const std::lock_guard guard(layouts_->lock);
        const PlainLayout& layout = layouts_->layouts.of(base, table);
        if (!layouts_->keeps_statement) layouts_->layouts.let_go();
        return layout.root_page > 0 ? &layout : nullptr;
    });
}

Query::Query(sqlite3* base, const std::string& where, std::string_view sql, size_t* used)
    : base_(base), where_(where) {
    sqlite3_stmt* statement = nullptr;
    const char* rest = nullptr;
    if (sqlite3_prepare_v2(base, sql.data(), static_cast<int>(sql.size()), &statement, &rest) != SQLITE_OK)
        fail_last(base, where_);
    statement_.reset(statement);
    if (used != nullptr) *used = static_cast<size_t>(rest - sql.data());
}

void Query::bind(int parameter, const Value& value) {
    int code = SQLITE_OK;
    if (const auto* number = std::get_if<int64_t>(&value))
        code = sqlite3_bind_int64(raw(), parameter, *number);
    else if (const auto* real = std::get_if<double>(&value))
        code = sqlite3_bind_double(raw(), parameter, *real);
    else if (const auto* text = std::get_if<std::string>(&value))
        code =
            sqlite3_bind_text64(raw(), parameter, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    else if (const auto* blob = std::get_if<Blob>(&value))
        code =
            sqlite3_bind_blob64(raw(), parameter, blob->bytes.data(), blob->bytes.size(), SQLITE_TRANSIENT);
    else
        code = sqlite3_bind_null(raw(), parameter);
    if (code != SQLITE_OK) fail_last(base_, where_);
}

bool Query::step() {
    const int code = sqlite3_step(raw());
    if (code == SQLITE_INTERRUPT) fail(where_, "it would take too long to read for its size");
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail_last(base_, where_);
    return code == SQLITE_ROW;
}

void Query::reset() { sqlite3_reset(raw()); }  // repeats the error that step() has told

int Query::columns() const { return sqlite3_column_count(raw()); }

std::string Query::column_name(int column) const {
    const char* name = sqlite3_column_name(raw(), column);
    return name != nullptr ? name : "";
}

std::string Query::column_type(int column) const {
    const char* type = sqlite3_column_decltype(raw(), column);
    return type != nullptr ? type : "";
}

bool Query::is_null(int column) const { return sqlite3_column_type(raw(), column) == SQLITE_NULL; }
int64_t Query::number(int column) const { return sqlite3_column_int64(raw(), column); }
double Query::real(int column) const { return sqlite3_column_double(raw(), column); }

std::optional<int64_t> Query::maybe(int column) const {
    return is_null(column) ? std::nullopt : std::optional(number(column));
}

std::optional<double> Query::maybe_real(int column) const {
    return is_null(column) ? std::nullopt : std::optional(real(column));
}

std::string Query::text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw(), column));
    return text != nullptr ? std::string(text, static_cast<size_t>(sqlite3_column_bytes(raw(), column))) : "";
}

Value Query::value(int column) const {
    switch (sqlite3_column_type(raw(), column)) {
        case SQLITE_INTEGER:
            return number(column);
        case SQLITE_FLOAT:
            return real(column);
        case SQLITE_TEXT:
            return text(column);
        case SQLITE_BLOB: {
            const auto* bytes = static_cast<const char*>(sqlite3_column_blob(raw(), column));
            const auto size = static_cast<size_t>(sqlite3_column_bytes(raw(), column));
            return Blob{bytes != nullptr ? std::string(bytes, size) : ""};
        }
        default:
            return nullptr;
    }
}

}  // namespace gpushim::analysis
