// The rows of a table, one after the other in order of their key, straight from the pages of its file:
// whoever reads a whole table is through in a fifth of the time that a statement takes. For tables whose key
// is a declared INTEGER PRIMARY KEY and whose rows fit on a page, as all of ours that are long; where the
// newest pages may lie beside the file (a -wal), or the table is made another way, they are to be asked for
// in SQL.
//
//   root   [ 2 | 5 | 3 ]          pages to visit: 2, then 5, then 3
//   leaves   2: rows 1..90   5: rows 91..180   3: rows 181..        from row 100 on: 5, then 3
//
// Every number in the file is checked before it is used: a damaged file ends in a Failure. A statement of the
// file stays open, so nobody changes it meanwhile. One thread; others may read the
// same file by readers of their own, because SQLite reads at a place without moving to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "database.h"

struct sqlite3_file;

namespace gpushim::analysis {

struct Record {
    int64_t key = 0;
    const uint8_t *begin = nullptr, *end = nullptr;  // until the next one is asked for
};

// A number of 1 to 9 bytes, as SQLite writes it; nullptr: the file ends in it.
const uint8_t* read_varint(const uint8_t* at, const uint8_t* end, uint64_t& value);

class TablePages {
  public:
    // Bytes behind a record that may be read, though they are others'.
    static constexpr size_t kRoomBehind = 16;

    // Rows from that key on; pages that only lead to earlier ones are not read.
    static std::optional<TablePages> open(const Database& base, const std::string& table,
                                          const std::string& key, int64_t first_key);
    bool next(Record& record) {
        do {
            while (cell_ == cells_)
                if (!next_leaf()) return false;
            read_cell(record);
        } while (record.key < first_key_);
        return true;
    }
    // Passes over the rows that come next on the page, as long as `same` says so of what stands in one; how
    // many. Nothing is made of their keys, so all rows have to be asked for.
    template <class Same>
    size_t pass_while(const Same& same) {
        size_t passed = 0;
        if (first_key_ != INT64_MIN) return passed;
        for (Record record; cell_ != cells_ && is_plain_cell(record) && same(record); ++passed) ++cell_;
        return passed;
    }
    [[noreturn]] void damaged() const;

  private:
    TablePages(Query open, sqlite3_file* file, std::string where);
    bool read_header();
    void hold(uint32_t pages);  // at once, from now on
    bool next_leaf();
    void read_cell(Record& record);
    bool is_plain_cell(Record& record) const;
    const uint8_t* read_key(const uint8_t* at, const uint8_t* end, uint64_t& key);
    const uint8_t* load(uint32_t page);
    void visit_children(const uint8_t* page, const uint8_t* header, uint32_t cells);

    Query open_;
    sqlite3_file* file_;
    std::string where_;
    int64_t first_key_ = INT64_MIN;
    uint32_t page_bytes_ = 0, usable_bytes_ = 0, pages_at_once_ = 0;
    uint64_t pages_ = 0, visited_ = 0;  // a tree that comes back to a page of its own has no end
    std::vector<uint32_t> to_visit_;    // the next one last
    std::vector<uint8_t> chunk_;        // some pages that follow each other
    uint32_t chunk_first_ = 0;          // its first page; 0: there is none
    const uint8_t *page_ = nullptr, *cell_places_ = nullptr;
    uint32_t cell_ = 0, cells_ = 0;
    // Of the last key, and which bits of its first eight bytes tell that another one follows, and what they
    // said.
    int64_t key_bytes_ = 0;
    uint64_t goes_on_bits_ = 0, goes_on_ = 1;
};

}  // namespace gpushim::analysis
