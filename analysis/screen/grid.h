// A screen of letters in a fixed number of rows and columns: what is put on it beyond its edges is not there.
// Drawn first, then printed: as plain lines, or as the bytes that make a terminal show it. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../terminal/style.h"

namespace gpushim::analysis {

class Grid {
  public:
    Grid(size_t rows, size_t columns) : columns_(columns), rows_(rows) {}

    size_t rows() const { return rows_.size(); }
    size_t columns() const { return columns_; }

    // From that column on. What stands already stays: this ends before what begins later, and is left out
    // where something else is.
    void put(size_t row, size_t column, std::string_view text, Style style = Style::plain);
    void put_right(size_t row, size_t end_column, std::string_view text, Style style = Style::plain);

    std::string text() const;  // lines without spaces at their ends
    // From the left upper corner on; each line is erased behind what it has, so nothing flickers.
    std::string escapes(bool has_colours) const;

  private:
    struct Piece {
        size_t column;
        std::string text;
        Style style;
    };
    std::string line(const std::vector<Piece>& row, bool has_colours) const;

    size_t columns_;
    std::vector<std::vector<Piece>> rows_;  // by column
};

}  // namespace gpushim::analysis
