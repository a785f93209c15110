// Rows of tables straight into the pages of a new file, as table_pages reads them: for rows that come in
// order of their keys, a statement does far more than that needs. Pages are written
// when some of a table are full; in memory are up to so many of each table, and the numbers of all.
//
//   root   [ 12 | 13 | 31 ]       12, 13, 31: leaves, some that follow each other among other tables'
//
// Until finish() the file is no database. Nobody else writes it meanwhile. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../process/new_file.h"

namespace gpushim::analysis {

// A row as it stands in a file, without its key: value by value, as many as the table has columns.
class NewRecord {
  public:
    void clear();
    void add_null() { header_ += '\0'; }  // the key's place has one, too
    void add(int64_t number);
    void add(std::string_view text);
    std::string_view bytes();  // until the next one is made

  private:
    std::string header_, values_, whole_;
};

class TreeWriter {
  public:
    // `image`: what the file has, a database without rows.
    TreeWriter(const NewFile& file, std::string_view image);

    // A table by the number of its root page; what is returned stands for it.
    size_t table(uint32_t root_page);
    // False: the key is not behind the one before.
    bool add(size_t table, int64_t key, std::string_view record);
    void finish();

  private:
    static constexpr size_t kPageBytes = 4096;
    using Page = std::array<char, kPageBytes>;
    struct Child {
        uint32_t page;
        int64_t last_key;
    };
    // table_pages reads some pages at once: so many of one table stand together.
    static constexpr size_t kRun = 16;
    struct Leaf {
        Page page;
        int64_t last_key;
    };
    struct Tree {
        uint32_t root_page;
        size_t cells = 0, content = kPageBytes;  // of the leaf: how many, and where they begin
        int64_t last_key = INT64_MIN;
        Page leaf = {};
        std::vector<Leaf> waiting = {};
        std::vector<Child> full = {};
        bool is_empty() const { return cells == 0 && waiting.empty() && full.empty(); }
    };
    static Page taken_leaf(Tree& tree);
    void end_leaf(Tree& tree);
    void put_waiting(Tree& tree);
    static Page page_above(std::span<const Child> children);
    Page root_of(Tree& tree);
    std::string overflow(std::string_view rest);
    uint32_t put(const Page& page);
    void flush();

    const NewFile& file_;
    uint32_t changes_ = 0;  // the file's count of them
    uint32_t next_page_;    // that has no use yet
    uint32_t unwritten_first_;
    std::string unwritten_;  // pages from that one on
    std::vector<Tree> trees_;
};

}  // namespace gpushim::analysis
