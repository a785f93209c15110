// The history of a job that runs again and again: a SQLite file with a row for each night and what a
// comparison asks of it. It is one file, made when it is first written to; what is in it is described where
// its tables are (history_tables.cpp). One thread; other processes wait while one writes. Throws Failure,
// also for a file that a newer gpushim wrote.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../sqlite/database.h"
#include "../trace/history_file.h"
#include "night.h"

namespace gpushim::analysis {

constexpr int kHistorySchema = 1;
extern const char kHistoryTables[];

class History {
  public:
    enum class Open { kRead, kWrite };
    History(const std::filesystem::path& place, Open open);

    // All that is done until `keep` is kept together, or nothing of it.
    void begin();
    void keep();

    std::vector<Night> nights() const;  // by start
    Side side(int64_t night) const;
    std::set<std::string> traces(int64_t night) const;

    int64_t add(const Night& night, const Side& side);  // its id; one that it replaces is removed first
    void remove(int64_t night);
    void accept(int64_t night);
    // The newest so many stay, and of each series and place the last that others are compared with.
    void prune(size_t most);

  private:
    Query ask(std::string_view sql, std::initializer_list<Value> values = {}) const;
    void put(std::string_view sql, std::initializer_list<Value> values) const;
    void make_or_check(Open open);
    void make(const std::string& head);  // the tables that are not there
    void add_serving(int64_t night, const std::optional<ServingUse>& serving);
    std::optional<ServingUse> serving(int64_t night) const;
    void add_use(int64_t night, const Side& side);
    void read_use(int64_t night, Side& side) const;
    void add_group(int64_t night, int64_t nth, const StepGroup& group);
    StepGroup group_of(int64_t night, int64_t nth, bool is_split) const;

    struct Close {
        void operator()(sqlite3* base) const;
    };
    std::string where_;
    std::unique_ptr<sqlite3, Close> base_;
    bool tells_serving_ = false, tells_use_ = false;  // an older history does not
};

}  // namespace gpushim::analysis
