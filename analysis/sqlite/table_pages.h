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
    bool next(Record& record);
    // The same of nearly all rows, in line; false: it is for next, which also tells whether there are more.
    bool next_plain(Record& record) {
        uint32_t key_bytes = 0;
        if (cell_ == cells_ || !is_plain_cell(cell_, record, key_bytes)) return false;
        record.key = plain_key(key_bytes, record.begin);
        if (record.key < first_key_) return false;
        cell_ += kCellPlaceBytes;
        return true;
    }
    // Passes over the rows that come next on the page, as long as `same` says so of what stands in one; how
    // many. Nothing is made of their keys, so all rows have to be asked for.
    template <class Same>
    size_t pass_while(const Same& same) {
        size_t passed = 0;
        if (first_key_ != INT64_MIN) return passed;
        const uint8_t* cell = cell_;
        Record record;
        uint32_t key_bytes = 0;
        for (; cell != cells_ && is_plain_cell(cell, record, key_bytes) && same(record); ++passed)
            cell += kCellPlaceBytes;
        cell_ = cell;
        return passed;
    }
    [[noreturn]] void damaged() const;

  private:
    TablePages(Query open, sqlite3_file* file, std::string where);
    bool read_header();
    void hold(uint32_t pages);  // at once, from now on
    bool next_leaf();
    Record read_cell();
    bool is_plain_cell(const uint8_t* cell, Record& record, uint32_t& key_bytes) const;
    int64_t plain_key(uint32_t key_bytes, const uint8_t* behind) const;
    void note_key(uint64_t key, const uint8_t* begin, const uint8_t* end);
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
    static constexpr size_t kCellPlaceBytes = 2;
    const uint8_t *page_ = nullptr, *page_end_ = nullptr;
    const uint8_t *cell_ = nullptr, *cells_ = nullptr;  // where it says where the next one is; all of them
    uint32_t plain_places_ = 0;                         // from there on a page has no eight bytes for a key
    // Of the last key that was read in full: how long it is; of its first eight bytes, those of them that are
    // its own, what they say but for the numbers of the last four; what number that makes.
    int64_t key_bytes_ = 0;
    uint8_t key_shift_ = 0;
    uint64_t same_bits_ = 1, upper_key_ = 0;  // at first bits of none
    static constexpr int64_t kFirstKeyBytes = sizeof same_bits_;
    static constexpr uint64_t kSameBits = 0xffffffff80808080;
    static constexpr int kOtherBits = 28;
};

// Such a cell: a short one, whose key has as many bytes as the last one's, so that where its row begins is
// known before its key is. Keys follow each other, so nearly all begin as the one before, too, and only four
// bytes have to be made a number. Others are for read_cell.
inline bool TablePages::is_plain_cell(const uint8_t* cell, Record& record, uint32_t& key_bytes) const {
    static_assert(std::endian::native == std::endian::little);
    uint16_t place = 0;
    std::memcpy(&place, cell, sizeof place);
    place = __builtin_bswap16(place);
    if (place >= plain_places_) return false;
    const uint8_t* const at = page_ + place;
    uint64_t key = 0;
    std::memcpy(&key, at + 1, sizeof key);
    key = __builtin_bswap64(key) >> key_shift_;
    key_bytes = static_cast<uint32_t>(key);
    record.begin = at + 1 + key_bytes_;
    record.end = record.begin + *at;
    return *at < 0x80 && (key & kSameBits) == same_bits_ && record.end <= page_end_;
}

// Of these four bytes, each of whose highest bits tells that another one follows, and of where it ends.
inline int64_t TablePages::plain_key(uint32_t key_bytes, const uint8_t* behind) const {
    // Two of 7 bits become one of 14, and those the number.
    const uint32_t halves = (key_bytes & 0x007f007f) | (key_bytes >> 1 & 0x3f803f80);
    const uint64_t key = upper_key_ | (halves & 0x3fff) | (halves >> 2 & 0xfffc000);
    // All bits of a ninth byte are its own.
    return static_cast<int64_t>(key_bytes_ > kFirstKeyBytes ? key << 8 | behind[-1] : key);
}

}  // namespace gpushim::analysis
