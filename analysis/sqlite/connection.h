// A connection to a database file. One takes half a megabyte for what it knows of tables and views, pages
// that it keeps, and a descriptor. So of more than kMostOpen that may rest, the one that was opened first and
// of which nobody has a statement is closed, and opened again, in the same way, for the next question.
//
//   connections   A B C … (kMostOpen)   + D: A is closed   + A asked: opened again, B is closed
//
// Any thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct sqlite3;

namespace gpushim::analysis {

class Connection {
  public:
    static constexpr size_t kMostOpen = 64;  // of those that may rest

    // Opened now. `where`: the file, for messages; `name` and `flags`: as SQLite is given them.
    Connection(std::string where, std::string name, int flags);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // What is done to it now and whenever it is opened again.
    void set_up(std::function<void(sqlite3*)> how);
    void may_rest();  // from here on
    // It stays open meanwhile, and as long as there is a statement of it.
    template <class Work>
    auto with(Work work) {
        const std::lock_guard guard(lock_);
        return work(opened());
    }

    // Nothing is done where it rests.
    template <class Work>
    void if_open(Work work) {
        const std::lock_guard guard(lock_);
        if (base_) work(base_.get());
    }

    static size_t open_now();  // of those that may rest

  private:
    struct Close {
        void operator()(sqlite3* base) const;
    };
    struct OpenOnes;
    static OpenOnes& open_ones();
    sqlite3* opened();
    bool try_to_close();

    const std::string where_, name_;
    const int flags_;
    std::vector<std::function<void(sqlite3*)>> set_up_;
    std::optional<std::pair<dev_t, ino_t>> file_;  // that it was, at first
    bool may_rest_ = false;
    std::mutex lock_;
    std::unique_ptr<sqlite3, Close> base_;  // null: it rests
};

}  // namespace gpushim::analysis
