// A table of a page: as wide as its columns, moved sideways where there is less room; a page's script lets it
// be sorted by any column.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "markup.h"

namespace gpushim::analysis {

struct TableCell {
    Markup shown;
    std::optional<double> value = {};  // what it is sorted by; none: its text

    TableCell(const char* text) : shown(text) {}
    TableCell(const std::string& text) : shown(text) {}
    TableCell(Markup markup) : shown(std::move(markup)) {}
    TableCell(const std::string& text, double by) : shown(text), value(by) {}
};

struct PageTable {
    std::string name;       // for who cannot see what stands around it
    std::string alignment;  // a letter for each column: 'l' text, 'r' numbers
    std::vector<std::string> headings;
    std::vector<std::vector<TableCell>> rows;
    std::string rest = "";  // which rows are not in it, and by what rule
};

Markup table(const PageTable& table);

// "not recorded: …", where a figure or a drawing would be.
Markup missing(const std::string& why);

}  // namespace gpushim::analysis
