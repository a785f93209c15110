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

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
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
            if (uint64_t key = 0; is_plain_cell(record, key)) {
                ++cell_;
                record.key = plain_key(key, record.begin);
            } else {
                read_cell(record);
            }
        } while (record.key < first_key_);
        return true;
    }
    // Passes over the rows that come next on the page, as long as `same` says so of what stands in one; how
    // many. Nothing is made of their keys, so all rows have to be asked for.
    template <class Same>
    size_t pass_while(const Same& same) {
        size_t passed = 0;
        if (first_key_ != INT64_MIN) return passed;
        uint64_t key = 0;
        for (Record record; cell_ != cells_ && is_plain_cell(record, key) && same(record); ++passed) ++cell_;
        return passed;
    }
    [[noreturn]] void damaged() const;

  private:
    TablePages(Query open, sqlite3_file* file, std::string where);
    bool read_header();
    void hold(uint32_t pages);  // at once, from now on
    bool next_leaf();
    void read_cell(Record& record);
    bool is_plain_cell(Record& record, uint64_t& key) const;
    int64_t plain_key(uint64_t key, const uint8_t* behind) const;
    void note_key(int64_t bytes);
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
    const uint8_t *page_ = nullptr, *page_end_ = nullptr, *cell_places_ = nullptr;
    uint32_t cell_ = 0, cells_ = 0;
    // Of the last key, and which bits of its first eight bytes tell that another one follows, and what they
    // said.
    int64_t key_bytes_ = 0;
    uint64_t goes_on_bits_ = 0, goes_on_ = 1;
    static constexpr int64_t kFirstKeyBytes = sizeof goes_on_;
};

// The cell that comes next, and the first eight bytes of its key on: a short one, whose key has as many bytes
// as the last one's, so that where its row begins is known before its key is. Others are for read_cell.
inline bool TablePages::is_plain_cell(Record& record, uint64_t& key) const {
    const uint8_t* const at_place = cell_places_ + size_t{2} * cell_;
    const uint8_t* const at = page_ + (size_t{at_place[0]} << 8 | at_place[1]);
    if (page_end_ - at <= 1 + kFirstKeyBytes || *at >= 0x80) return false;
    std::memcpy(&key, at + 1, sizeof key);
    record.begin = at + 1 + key_bytes_;
    record.end = record.begin + *at;
    return (key & goes_on_bits_) == goes_on_ && record.end <= page_end_;
}

// Of its first eight bytes, and of where it ends.
inline int64_t TablePages::plain_key(uint64_t bytes, const uint8_t* behind) const {
    static_assert(std::endian::native == std::endian::little);
    constexpr uint64_t kNumber =
        0x7f7f7f7f7f7f7f7f;  // each byte's highest bit tells that another one follows
    uint64_t key = __builtin_bswap64(bytes) >> (64 - 8 * std::min(key_bytes_, kFirstKeyBytes)) & kNumber;
    // Two of 7 bits become one of 14, two of these one of 28, and those the number.
    key = (key & 0x007f007f007f007f) | (key & 0x7f007f007f007f00) >> 1;
    key = (key & 0x00003fff00003fff) | (key & 0x3fff00003fff0000) >> 2;
    key = (key & 0x000000000fffffff) | (key & 0x0fffffff00000000) >> 4;
    // All bits of a ninth byte are its own.
    return static_cast<int64_t>(key_bytes_ > kFirstKeyBytes ? key << 8 | behind[-1] : key);
}

}  // namespace gpushim::analysis
