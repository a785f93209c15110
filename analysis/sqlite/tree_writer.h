// Rows of tables straight into the pages of a new file, as table_pages reads them: for rows that come in
// order of their keys, a statement does far more than that needs. Pages are written
// when some of a table are full; in memory are up to so many of each table, and the numbers of all.
//
//   root   [ 12 | 13 | 31 ]       12, 13, 31: leaves, some that follow each other among other tables'
//
// An index, and a table WITHOUT ROWID, is such a tree as well, of records without keys; between two of its
// leaves a record stands above them.
//
// Until finish() what was added is not there. Either nobody else writes the file meanwhile, or SQLite does,
// and says when the file is at rest. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../process/new_file.h"
#include "new_record.h"

namespace gpushim::analysis {

class TreeWriter {
  public:
    // What is longer goes on in pages of its own, which only a file has that nobody else writes.
    static constexpr size_t kLongestOfTable = 4061, kLongestOfIndex = 1002;  // bytes of a record

    // Nobody else writes the file. `image`: what it has, a database without rows.
    TreeWriter(const NewFile& file, std::string_view image);
    // SQLite writes it, too. Full leaves wait until put_waiting(), which may be asked for, as finish(), while
    // SQLite is in no transaction: to it these are another process's changes.
    explicit TreeWriter(const NewFile& file) : file_(file) {}

    // A table by the number of its root page; what is returned stands for it.
    size_t table(uint32_t root_page);
    size_t index(uint32_t root_page);  // the same, and for a table WITHOUT ROWID
    // False: the key is not behind the one before.
    bool add(size_t table, int64_t key, std::string_view record);
    void add(size_t index, std::string_view record);  // behind all before it, which nobody looks at here
    size_t waiting() const { return waiting_; }       // leaves
    void put_waiting();
    void finish();

  private:
    static constexpr size_t kPageBytes = 4096;
    using Page = std::array<char, kPageBytes>;
    struct Child {
        uint32_t page;
        std::string last;  // its last key, of an index the record behind it, as in a page above
    };
    // table_pages reads some pages at once: so many of one table stand together.
    static constexpr size_t kRun = 16;
    struct Leaf {
        Page page;
        std::string last;
    };
    struct Tree {
        uint32_t root_page;
        bool is_index = false;
        size_t cells = 0, content = kPageBytes;  // of the leaf: how many, and where they begin
        size_t last_bytes = 0;                   // of the last one
        int64_t last_key = INT64_MIN;
        Page leaf = {};
        std::deque<Leaf> waiting = {};
        std::vector<Child> full = {};
        bool is_empty() const { return cells == 0 && waiting.empty() && full.empty(); }
    };
    void add_cell(Tree& tree, std::initializer_list<std::string_view> parts);
    static std::string taken_last(Tree& tree);
    static Page taken_leaf(Tree& tree);
    void end_leaf(Tree& tree, std::string last);
    void put_waiting(Tree& tree);
    static Page page_above(std::span<const Child> children, bool is_index);
    static size_t most_above(std::span<const Child> children);
    Page root_of(Tree& tree);
    std::string overflow(std::string_view rest);
    uint32_t put(const Page& page);
    void flush();
    void read_header(std::string_view header);
    void put_header();

    const NewFile& file_;
    bool is_alone_ = false;
    uint32_t changes_ = 0;    // the file's count of them
    uint32_t next_page_ = 0;  // that has no use yet
    uint32_t unwritten_first_ = 0;
    std::string unwritten_;  // pages from that one on
    size_t waiting_ = 0;
    std::vector<Tree> trees_;
};

}  // namespace gpushim::analysis
