#include "connection.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>

#include "../failure.h"
#include "check.h"

namespace gpushim::analysis {

namespace {

constexpr int kLongestValue = 256 << 20;  // bytes; longer ones are not ours
constexpr int kPatienceMs = 2000;         // for a program that is just writing

void trust_nothing(sqlite3* base, const std::string& where) {
    for (const int off : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                          SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, SQLITE_DBCONFIG_DQS_DML})
        check(base, where, sqlite3_db_config(base, off, 0, nullptr));
    check(base, where, sqlite3_db_config(base, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr));
    sqlite3_limit(base, SQLITE_LIMIT_LENGTH, kLongestValue);
    run_on(base, where, "PRAGMA cell_size_check = ON");
    run_on(base, where, "PRAGMA mmap_size = 0");
}

}  // namespace

// In the order in which they were opened. Who holds its lock waits for no connection's.
struct Connection::OpenOnes {
    std::mutex lock;
    std::deque<Connection*> all;

    void add(Connection* one) {
        const std::lock_guard guard(lock);
        all.push_back(one);
        for (auto other = all.begin(); all.size() > kMostOpen && *other != one;)
            other = (*other)->try_to_close() ? all.erase(other) : other + 1;
    }
    void remove(const Connection* one) {
        const std::lock_guard guard(lock);
        std::erase(all, one);
    }
};

Connection::OpenOnes& Connection::open_ones() {
    static OpenOnes ones;
    return ones;
}

void Connection::Close::operator()(sqlite3* base) const {
    sqlite3_close_v2(base);  // fails for nothing but misuse
}

Connection::Connection(std::string where, std::string name, int flags)
    : where_(std::move(where)), name_(std::move(name)), flags_(flags) {
    opened();
}

Connection::~Connection() {
    if (may_rest_) open_ones().remove(this);
}

sqlite3* Connection::opened() {
    if (base_) return base_.get();
    sqlite3* base = nullptr;
    const int code =
        sqlite3_open_v2(name_.c_str(), &base, flags_ | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, nullptr);
    std::unique_ptr<sqlite3, Close> made(base);
    check(base, where_, code);
    check(base, where_, sqlite3_busy_timeout(base, kPatienceMs));
    trust_nothing(base, where_);
    struct stat status;
    if (stat(where_.c_str(), &status) == 0) {
        const std::pair file(status.st_dev, status.st_ino);
        if (file_.value_or(file) != file)
            throw Failure(where_ + ": was replaced while it was read", kIncomplete);
        file_ = file;
    }
    for (const auto& how : set_up_) how(base);
    base_ = std::move(made);
    if (may_rest_) open_ones().add(this);
    return base_.get();
}

void Connection::set_up(std::function<void(sqlite3*)> how) {
    with(how);
    set_up_.push_back(std::move(how));
}

void Connection::may_rest() {
    const std::lock_guard guard(lock_);
    if (std::exchange(may_rest_, true)) return;
    open_ones().add(this);
}

bool Connection::try_to_close() {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard || sqlite3_next_stmt(base_.get(), nullptr) != nullptr) return false;
    base_.reset();
    return true;
}

size_t Connection::open_now() {
    OpenOnes& ones = open_ones();
    const std::lock_guard guard(ones.lock);
    return ones.all.size();
}

}  // namespace gpushim::analysis
