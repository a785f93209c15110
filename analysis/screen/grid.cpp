#include "grid.h"

#include <algorithm>

#include "../text/width.h"

namespace gpushim::analysis {

void Grid::put(size_t row, size_t column, std::string_view text, Style style) {
    if (row >= rows_.size() || column >= columns_ || text.empty()) return;
    std::vector<Piece>& pieces = rows_[row];
    const auto next = std::find_if(pieces.begin(), pieces.end(),
                                   [&](const Piece& piece) { return piece.column >= column; });
    if (next != pieces.begin() && std::prev(next)->column + width_of(std::prev(next)->text) > column) return;
    const size_t end = next == pieces.end() ? columns_ : next->column;
    std::string fitting(text.substr(0, bytes_within(text, end - column)));
    if (!fitting.empty()) pieces.insert(next, {column, std::move(fitting), style});
}

void Grid::put_right(size_t row, size_t end_column, std::string_view text, Style style) {
    const size_t width = width_of(text);
    put(row, end_column > width ? end_column - width : 0, text, style);
}

std::string Grid::line(const std::vector<Piece>& row, bool has_colours) const {
    std::string line;
    size_t at = 0;
    for (const Piece& piece : row) {
        if (piece.column > at) line.append(piece.column - at, ' ');
        line += has_colours ? styled(piece.style, piece.text) : piece.text;
        at = std::max(at, piece.column) + width_of(piece.text);
    }
    return line;
}

std::string Grid::text() const {
    std::string text;
    for (const std::vector<Piece>& row : rows_) {
        const std::string all = line(row, false);
        text += all.substr(0, all.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

// Not a line feed behind the last row: it would move all others up.
std::string Grid::escapes(bool has_colours) const {
    std::string bytes = "\033[H";
    for (size_t row = 0; row < rows_.size(); ++row)
        bytes += (row == 0 ? "" : "\r\n") + line(rows_[row], has_colours) + "\033[K";
    return bytes;
}

}  // namespace gpushim::analysis
