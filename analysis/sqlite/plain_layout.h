// How tables lie in a database whose rows are read or written without SQL: those whose rows stand in one tree
// by a declared INTEGER PRIMARY KEY, their first column, with every column as it is read. The database is
// asked once of each. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;

namespace gpushim::analysis {

class Query;

struct PlainLayout {
    uint32_t root_page = 0;            // 0: there is no such table, or it is made in another way
    std::vector<std::string> columns;  // the key first
    std::vector<bool> has_nulls;       // by column: it may
    bool is_indexed = false;           // all of its rows stand in another tree, too
};

class PlainLayouts {
  public:
    explicit PlainLayouts(std::string where);
    ~PlainLayouts();

    // As long as this object lives; `base` is the same until it is let go.
    const PlainLayout& of(sqlite3* base, const std::string& table);
    void let_go();  // of the connection, which is about to be closed; what is known stays

  private:
    PlainLayout look(sqlite3* base, const std::string& table);

    std::string where_;
    std::unique_ptr<Query> columns_;
    std::map<std::string, PlainLayout> of_;
};

}  // namespace gpushim::analysis
