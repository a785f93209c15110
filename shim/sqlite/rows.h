// Rows of one table that are not in the database yet, as numbers in a block. A column holds a number or
// kNull; columns named in `text_columns` (a bit for each) hold what text() returned, those in `real_columns`
// what real() did. Behind its columns a row may have `extra` numbers that do not go into the database. One
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace gpushim::shim {

constexpr int kMostColumns = 32;  // as there are bits in Rows::text_columns
constexpr int64_t kNull = std::numeric_limits<int64_t>::min();

class Rows {
  public:
    Rows(const char* table, int columns, uint32_t text_columns = 0, uint32_t real_columns = 0, int extra = 0)
        : table_(table),
          columns_(columns),
          width_(static_cast<size_t>(columns + extra)),
          text_columns_(text_columns),
          real_columns_(real_columns) {}

    int64_t text(std::string_view text) {
        texts_.emplace_back(text);
        return static_cast<int64_t>(texts_.size()) - 1;
    }
    // The bits of -0 are those of kNull.
    static int64_t real(double value) { return std::bit_cast<int64_t>(value == 0 ? 0.0 : value); }

    const char* table() const { return table_; }
    int columns() const { return columns_; }
    bool has_extra() const { return width_ > static_cast<size_t>(columns_); }
    int64_t extra_of(size_t index) const { return row(index)[columns_]; }  // the first
    size_t count() const { return cells_.size() / width_; }
    int64_t* row(size_t index) { return cells_.data() + index * width_; }
    const int64_t* row(size_t index) const { return cells_.data() + index * width_; }
    const std::string* text_of(int column, int64_t value) const {
        return (text_columns_ >> column & 1) != 0 ? &texts_[static_cast<size_t>(value)] : nullptr;
    }
    bool is_real(int column) const { return (real_columns_ >> column & 1) != 0; }
    // What an insertion takes of them (Database::insertion_of): all, or some at a time.
    void show(size_t from, size_t until) {
        shown_from_ = from;
        shown_until_ = until;
    }
    void show_all() { show(0, SIZE_MAX); }
    size_t shown_from() const { return shown_from_; }
    size_t shown_until() const { return std::min(shown_until_, count()); }

    // Those rows stay for which `keep` is true.
    template <class F>
    void erase_unless(F keep) {
        size_t kept = 0;
        for (size_t i = 0; i < count(); ++i)
            if (keep(row(i)) && kept++ != i) std::copy_n(row(i), width_, row(kept - 1));
        cells_.resize(kept * width_);
    }
    // Those that no row has any more.
    void drop_texts() {
        std::vector<std::string> texts;
        for (size_t i = 0; i < count(); ++i)
            for (int column = 0; column < columns_; ++column)
                if (int64_t& cell = row(i)[column]; cell != kNull && (text_columns_ >> column & 1) != 0)
                    cell = keep_text(texts, cell);
        texts_.swap(texts);
    }
    void erase_last() { cells_.resize(cells_.size() - width_); }
    void erase_first(size_t rows) {
        size_t index = 0;
        erase_unless([&](const int64_t*) { return index++ >= rows; });
    }
    void clear() {
        cells_.clear();
        texts_.clear();
    }

  protected:
    std::vector<int64_t> cells_;

  private:
    int64_t keep_text(std::vector<std::string>& texts, int64_t cell) {
        texts.push_back(std::move(texts_[static_cast<size_t>(cell)]));
        return static_cast<int64_t>(texts.size()) - 1;
    }

    const char* table_;
    int columns_;
    size_t width_;
    uint32_t text_columns_;
    uint32_t real_columns_;
    std::vector<std::string> texts_;
    size_t shown_from_ = 0, shown_until_ = SIZE_MAX;
};

// A bit for each column whose type begins so.
template <class Types>
constexpr uint32_t columns_of(const Types& types, std::string_view type) {
    uint32_t columns = 0;
    for (size_t i = 0; i < types.size(); ++i)
        if (types[i].substr(0, type.size()) == type) columns |= 1u << i;
    return columns;
}

// A Row (schema/rows.h) has a number for each column, and says its table and its columns' types.
template <class Row, int kExtra = 0>
class RowsOf : public Rows {
  public:
    RowsOf()
        : Rows(Row::kTable, kColumns, columns_of(Row::kTypes, "TEXT"), columns_of(Row::kTypes, "REAL"),
               kExtra) {}

    template <class... Extra>
    void add(const Row& row, Extra... extra) {
        static_assert(sizeof...(Extra) == kExtra);
        const size_t at = cells_.size();
        cells_.resize(at + kColumns + kExtra);
        std::memcpy(&cells_[at], &row, sizeof row);
        int64_t* cell = cells_.data() + at + kColumns;
        ((*cell++ = extra), ...);
    }
    Row at(size_t index) const {
        std::array<int64_t, sizeof(Row) / sizeof(int64_t)> cells;
        std::copy_n(row(index), cells.size(), cells.begin());
        return std::bit_cast<Row>(cells);
    }

  private:
    static constexpr int kColumns = static_cast<int>(Row::kTypes.size());
    static_assert(kColumns <= kMostColumns);
    static_assert(sizeof(Row) == kColumns * sizeof(int64_t));
};

}  // namespace gpushim::shim
