#include "database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "../base/file_status.h"
#include "../base/network_file_system.h"
#include "../base/own_files.h"
#include "../base/protection.h"
#include "histogram_functions.h"
#include "rows_module.h"
#include "schema_image.h"

namespace gpushim::shim {
namespace {

// A write was refused since the last transaction was begun. SQLite says the same of a limit of ours.
constinit bool disk_is_full = false;

int check(sqlite3* base, int code) {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return code;
    const char* text = base != nullptr ? sqlite3_errmsg(base) : sqlite3_errstr(code);
    throw DatabaseError(base != nullptr ? sqlite3_extended_errcode(base) : code, text);
}

constinit LogLimit written_log = {};  // the one log that is written

int cut_ours(int descriptor, off64_t size) {
    return is_ours(descriptor) ? ftruncate64(descriptor, size) : -1;
}

// Locks: nobody else's are given up.
int control_ours(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* argument = va_arg(rest, void*);
    va_end(rest);
    return is_ours(descriptor) ? fcntl(descriptor, command, argument) : -1;
}

// Also of journals: never through a link that somebody put there, and for nobody else to read.
int open_safely(const char* path, int flags, int) {
    const int descriptor = kept_as_ours(open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (std::string_view(path).ends_with("-wal")) {
        written_log.descriptor = descriptor;
        written_log.bytes = INT64_MAX;
    } else if (descriptor == written_log.descriptor) {
        written_log.descriptor = -1;  // that one was closed
    }
    return descriptor;
}

ssize_t write_within(int descriptor, const void* bytes, size_t size, off64_t offset) {
    if (!is_ours(descriptor)) return -1;
    if (descriptor == written_log.descriptor && offset + static_cast<int64_t>(size) > written_log.bytes) {
        errno = ENOSPC;
        return -1;
    }
    const ssize_t written = pwrite64(descriptor, bytes, size, offset);
    if (written < 0 && (errno == ENOSPC || errno == EDQUOT)) disk_is_full = true;
    return written;
}

// While the schema of a new trace is read, which has no views for us (schema_image.h).
constinit bool are_views_hidden = false;

ssize_t read_all_but_views(int descriptor, void* bytes, size_t size, off64_t offset) {
    if (!is_ours(descriptor)) return -1;
    const ssize_t there = pread64(descriptor, bytes, size, offset);
    if (are_views_hidden && there > 0)
        hide_views(static_cast<char*>(bytes), static_cast<size_t>(there), static_cast<size_t>(offset));
    return there;
}

template <class F>
sqlite3_syscall_ptr as_system_call(F* function) {
    return reinterpret_cast<sqlite3_syscall_ptr>(function);
}

constinit bool configured = false;

void configure_once() {
    if (configured) return;
    check(nullptr, sqlite3_config(SQLITE_CONFIG_SINGLETHREAD));
    check(nullptr, sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0));
    check(nullptr, sqlite3_initialize());
    const std::pair<const char*, sqlite3_syscall_ptr> system_calls[] = {
        {"open", as_system_call(open_safely)},
        {"close", as_system_call(close_ours)},
        {"fcntl", as_system_call(control_ours)},
        {"ftruncate", as_system_call<int(int, off64_t)>(cut_ours)},
        {"pwrite64", as_system_call(write_within)},
        {"pread64", as_system_call(read_all_but_views)},
        {"stat", as_system_call<int(const char*, struct stat*)>(status_of)},
        {"lstat", as_system_call(status_of_link)},
        {"fstat", as_system_call<int(int, struct stat*)>(status_of)},
    };
    for (const char* name : {"unix", "unix-none"}) {
        sqlite3_vfs* vfs = sqlite3_vfs_find(name);
        for (const auto& [call, ours] : system_calls) check(nullptr, vfs->xSetSystemCall(vfs, call, ours));
    }
    configured = true;
}

constexpr int kBusyWait_ms = 100;

}  // namespace

bool DatabaseError::needs_rollback() const {
    return code_ == SQLITE_READONLY_ROLLBACK || code_ == SQLITE_READONLY_RECOVERY;
}

DatabaseError::DatabaseError(int code, const std::string& what)
    : std::runtime_error(what), code_(code), by_disk_(disk_is_full) {}

bool DatabaseError::is_full() const { return (code_ & 0xff) == SQLITE_FULL && !by_disk_; }
bool DatabaseError::is_of_disk() const { return by_disk_; }
bool DatabaseError::is_there_already() const { return (code_ & 0xff) == SQLITE_CONSTRAINT; }
bool DatabaseError::is_busy() const { return (code_ & 0xff) == SQLITE_BUSY; }

sqlite3_stmt* Statement::prepared() {
    if (statement_ != nullptr) return statement_.get();
    sqlite3_stmt* made = nullptr;
    check(base_, sqlite3_prepare_v3(base_, sql_.data(), static_cast<int>(sql_.size()),
                                    SQLITE_PREPARE_PERSISTENT, &made, nullptr));
    statement_.reset(made);
    return made;
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);  // repeats the error of the last step, which was reported there
}

Statement& Statement::bind(int parameter, int64_t value) {
    auto* s = prepared();
    check(base_, value == kNull ? sqlite3_bind_null(s, parameter) : sqlite3_bind_int64(s, parameter, value));
    return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
    check(base_, sqlite3_bind_text(prepared(), parameter, text.data(), static_cast<int>(text.size()),
                                   SQLITE_TRANSIENT));
    return *this;
}

Statement& Statement::bind(int parameter, std::span<const uint64_t> blob) {
    check(base_, sqlite3_bind_blob(prepared(), parameter, blob.data(), static_cast<int>(blob.size_bytes()),
                                   SQLITE_TRANSIENT));
    return *this;
}

Statement& Statement::bind(int parameter, std::span<const uint8_t> blob) {
    check(base_, sqlite3_bind_blob(prepared(), parameter, blob.data(), static_cast<int>(blob.size()),
                                   SQLITE_TRANSIENT));
    return *this;
}

Statement& Statement::bind(int parameter, Rows& block) {
    check(base_, sqlite3_bind_pointer(prepared(), parameter, &block, kRowsPointer, nullptr));
    return *this;
}

bool Statement::step() {
    const int code = sqlite3_step(prepared());
    if (code == SQLITE_ROW) return true;
    sqlite3_reset(statement_.get());  // repeats the code that is checked below
    check(base_, code);
    return false;
}

int64_t Statement::number(int column) const {
    auto* s = statement_.get();
    return sqlite3_column_type(s, column) == SQLITE_NULL ? kNull : sqlite3_column_int64(s, column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
    const auto* text = sqlite3_column_text(statement_.get(), column);
    return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

std::vector<uint64_t> Statement::blob(int column) const {
    const void* bytes = sqlite3_column_blob(statement_.get(), column);
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
    std::vector<uint64_t> words(size / sizeof(uint64_t));
    if (!words.empty()) std::memcpy(words.data(), bytes, words.size() * sizeof(uint64_t));
    return words;
}

void Database::Close::operator()(sqlite3* base) const {
    sqlite3_close_v2(base);  // nothing can be done about a failure; what was committed is safe
}

// SQLite would follow a link in the last part of a path; folders may well be links.
std::string resolved(const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const std::unique_ptr<char, void (*)(void*)> real(realpath(folder.c_str(), nullptr), std::free);
    return real == nullptr ? path : real.get() + ("/" + path.substr(slash + 1));
}

// As SQLite locks a file that it writes: who reads it meanwhile waits, and sees no half of an image.
void lock_whole(int file) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 0x40000000;
    lock.l_len = 512;
    fcntl(file, F_SETLK, &lock);  // where files cannot be locked nobody waits
}

// The first page last: whoever is killed before it has made nothing that looks like a database.
void write_image(const std::string& path) {
    const int file = open_safely(path.c_str(), O_WRONLY | O_CREAT, 0);
    if (file < 0) throw DatabaseError(SQLITE_CANTOPEN, std::strerror(errno));
    const std::string_view image = kSchemaImage.bytes;
    const auto write = [&](size_t from, size_t until) {
        errno = ENOSPC;  // of a write that is short
        return write_within(file, image.data() + from, until - from, static_cast<off64_t>(from)) ==
               static_cast<ssize_t>(until - from);
    };
    disk_is_full = false;
    lock_whole(file);
    struct stat facts;
    const bool is_empty = status_of(file, &facts) == 0 && facts.st_size == 0;
    const bool written =
        is_empty && write(SchemaImage::kPageBytes, image.size()) && write(0, SchemaImage::kPageBytes);
    const int error = errno;
    close(file);
    if (!is_empty) throw DatabaseError(SQLITE_CANTOPEN, "it is not an empty file");
    if (!written) throw DatabaseError(SQLITE_IOERR_WRITE, std::strerror(error));
}

// On a network file system the name was taken with O_EXCL, which is all the exclusivity that can be had
// there.
Database::Database(const std::string& path, Open how) : is_new_(how == Open::create) {
    configure_once();
    is_on_network_ = is_network_file_system(path.c_str());
    const int access = how == Open::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    const std::string name = how == Open::read ? path : resolved(path);
    if (is_new_) write_image(name);
    sqlite3* made = nullptr;
    const int code = sqlite3_open_v2(
        name.c_str(), &made, access | SQLITE_OPEN_EXRESCODE | (how == Open::read ? 0 : SQLITE_OPEN_NOFOLLOW),
        is_on_network_ && how != Open::read ? "unix-none" : "unix");
    base_.reset(made);
    check(made, code);
    check(made, sqlite3_busy_timeout(made, kBusyWait_ms));
    check(made, make_histogram_functions(made));
    if (how == Open::read) return;
    check(made, sqlite3_create_module(made, "new_rows", &rows_module, nullptr));
    run("PRAGMA temp_store = MEMORY");
    is_new_ ? begin_early() : static_cast<void>(use_log());
}

// A journal that stays spares the making of one for each transaction.
void Database::begin_early() {
    are_views_hidden = true;
    try {
        run("SELECT 1 FROM meta");
    } catch (...) {
        are_views_hidden = false;
        throw;
    }
    are_views_hidden = false;
    run("PRAGMA synchronous = OFF; PRAGMA journal_mode = TRUNCATE");
}

bool Database::use_log() {
    if (is_settled_) return false;
    if (is_new_) run("PRAGMA journal_mode = DELETE");
    if (!is_on_network_) run("PRAGMA synchronous = NORMAL");
    Statement mode = prepare(is_on_network_ ? "PRAGMA journal_mode = TRUNCATE" : "PRAGMA journal_mode = WAL");
    mode.step();
    wal_ = mode.text(0) == "wal";
    mode.step();
    if (wal_) run("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0");
    return is_settled_ = true;
}

// A file in WAL mode gets companions whenever somebody reads it; at rest it is in none. With a reader there
// this fails, and does no harm. The last write changes some bytes of the file's first sector; its journal is
// in memory. A journal on disk would make the file unreadable to all who may not write it, where the exit
// does not wait for a slow disk and the process ends before that journal is gone.
Database::~Database() {
    if (is_new_ && !is_settled_)
        sqlite3_exec(base_.get(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
    if (!wal_) return;
    sqlite3_exec(base_.get(), "PRAGMA synchronous = NORMAL", nullptr, nullptr, nullptr);
    sqlite3_exec(base_.get(), "PRAGMA journal_mode = MEMORY", nullptr, nullptr, nullptr);
}

void Database::run(const char* sql) {
    check(base_.get(), sqlite3_exec(base_.get(), sql, nullptr, nullptr, nullptr));
}

Statement Database::insertion_of(Rows& rows, Refused refused) {
    const char* insert = refused == Refused::skip ? "INSERT OR IGNORE INTO \"" : "INSERT INTO \"";
    Statement made = prepare(std::string(insert) + rows.table() + "\" SELECT " +
                             column_names(rows.columns()) + " FROM new_rows(?)");
    made.bind(1, rows);
    return made;
}

// In WAL mode only a FULL commit reaches the disk; the setting cannot change inside a transaction.
void Database::begin(bool durable) {
    if (!kept(Protection::synced_log)) durable = false;
    if (wal_ && durable != durable_)
        run(durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    durable_ = durable;
    disk_is_full = false;
    run("BEGIN IMMEDIATE");
}

void Database::begin_last() {
    if (is_settled_) return begin(false);
    // What was written before and this are on the disk when the file is synced, and only then is the journal
    // over: until then it takes the end back. Synced alone, once, the file may be torn by a journal of which
    // only some is on the disk (tried: test/faults, D7).
    run("PRAGMA synchronous = NORMAL");
    begin(false);
}

void Database::commit() { run("COMMIT"); }

// Whoever reads keeps the log from being begun anew. They are not waited for: the rings fill meanwhile.
bool Database::empty_log() {
    disk_is_full = false;
    sqlite3_busy_timeout(base_.get(), 0);
    const int code =
        sqlite3_wal_checkpoint_v2(base_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
    sqlite3_busy_timeout(base_.get(), kBusyWait_ms);
    if (code == SQLITE_BUSY) return false;
    check(base_.get(), code);
    return true;
}

void Database::limit_log(int64_t bytes) { written_log.bytes = bytes; }

void Database::exchange_log(LogLimit& with) { std::swap(written_log, with); }

void Database::limit_pages(int64_t pages) {
    run(("PRAGMA max_page_count = " + std::to_string(pages)).c_str());
}

void Database::rollback() noexcept { sqlite3_exec(base_.get(), "ROLLBACK", nullptr, nullptr, nullptr); }

}  // namespace gpushim::shim
