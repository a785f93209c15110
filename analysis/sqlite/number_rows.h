// The rows of a table in order of its key, some of its columns as numbers: from the file's pages where that
// can be, else by a statement; who reads them sees no difference. A column that the table lacks is NULL, and
// of what is no number only that it is there counts, except for one text in a row. One thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "database.h"
#include "table_pages.h"

namespace gpushim::analysis {

constexpr size_t kMostColumns = 12;

struct NumberRow {
    int64_t key = 0;
    std::array<int64_t, kMostColumns> numbers{};  // NULL: 0
    uint32_t present = 0;                         // a bit for each that is not NULL
    std::string_view text;  // of the last column that is one, until the next row is read

    int64_t number(size_t column) const { return numbers[column]; }
    bool is_null(size_t column) const { return (present >> column & 1) == 0; }
    int64_t number_or(size_t column, int64_t if_null) const {
        return is_null(column) ? if_null : numbers[column];
    }
    void set(size_t column, int64_t number) {
        numbers[column] = number;
        present |= 1U << column;
    }
};

class NumberRows {
  public:
    // `columns` without the key, at most kMostColumns; rows from that key on.
    NumberRows(const Database& base, const std::string& table, const std::string& key,
               const std::vector<std::string>& columns, int64_t first_key = INT64_MIN);
    bool next() { return pages_ ? next_record() : next_of_query(); }
    const NumberRow& row() const { return row_; }  // which that was, until it is asked again
    bool next(NumberRow& row) {
        if (!next()) return false;
        row = row_;
        return true;
    }
    bool is_from_pages() const { return pages_.has_value(); }
    // Passes over some of the rows that come next and say the same as the last one, but for their keys; how
    // many. Where that is not to be seen without reading them: none.
    size_t pass_alike();

  private:
    static constexpr uint8_t kUnasked = 255;
    // A row's header, which begins with its length; behind that zeros.
    struct Header {
        uint64_t front = 0, back = 0;
        Header operator&(const Header& mask) const { return {front & mask.front, back & mask.back}; }
        // Both at once: they are nearly always the same.
        bool operator==(const Header& other) const {
            return ((front ^ other.front) | (back ^ other.back)) == 0;
        }
        size_t mixed() const { return ((front ^ back * 31) * 0x9E3779B97F4A7C15u) >> 58; }
    };
    static Header bytes_from(const uint8_t* begin);  // and what comes behind it
    // Where the numbers of rows with such a header are: most rows of a table have one of a few, and what a
    // header says is then worked out once.
    struct Plan {
        static constexpr size_t kLongest = 16;
        struct Number {
            uint8_t column = 0, from = 0, shift = 0;  // of the eight bytes from there on in the row
        };
        bool is_of(const uint8_t* begin, const uint8_t* end) const {
            return (bytes_from(begin) & mask) == header && bytes <= end - begin;
        }
        Header header = {1, 0}, mask = {0, 0};  // at first those of no row
        uint8_t bytes = 0;                      // of the row, at least
        uint8_t count = 0;
        uint32_t present = 0;
        std::array<Number, kMostColumns> numbers{};
        // What the header says without a value: 1, and 0 of all others.
        std::array<int64_t, kMostColumns> without_value{};
    };
    static constexpr size_t kPlans = 64;
    static const Plan kNoPlan;
    static constexpr std::array<Header, Plan::kLongest + 1> make_masks();
    static const std::array<Header, Plan::kLongest + 1> kMasks;  // of headers, by how long they are
    bool next_record();
    [[gnu::noinline]] bool next_record_otherwise();
    // What stands from there to there, which has all but the key; true.
    [[gnu::noinline]] bool read(const uint8_t* begin, const uint8_t* end);
    void read_as_planned(const uint8_t* begin);
    void read_all(const uint8_t* begin, const uint8_t* end);
    const Plan& plan_for(const uint8_t* begin, const uint8_t* end);
    void make_plan(const uint8_t* begin, size_t header_bytes, Plan& plan) const;
    bool next_of_query();

    std::optional<TablePages> pages_;
    const Plan* plan_ = &kNoPlan;  // the last row's, of which `row_` has all that the header says
    const Plan* plan_before_ = &kNoPlan;
    NumberRow row_;
    std::vector<Plan> plans_;     // by what headers are, mixed
    std::vector<uint8_t> asked_;  // by place in the record: the column that it is of; up to the last one
    std::optional<Query> query_;
    size_t columns_;
};

}  // namespace gpushim::analysis
