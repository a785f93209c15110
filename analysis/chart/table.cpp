#include "table.h"

#include <cstdio>

namespace gpushim::analysis {

namespace {

constexpr size_t kShort = 12;  // letters: a day, a word; such a cell stays in one line

Attributes style_of(const PageTable& table, size_t column) {
    return column < table.alignment.size() && table.alignment[column] == 'r' ? Attributes{{"class", "number"}}
                                                                             : Attributes{};
}

std::string key_text(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

Markup head_of(const PageTable& table) {
    Markup cells;
    for (size_t i = 0; i < table.headings.size(); ++i) {
        Attributes attributes = style_of(table, i);
        attributes.push_back({"scope", "col"});
        cells += element("th", attributes, table.headings[i]);
    }
    return element("thead", {}, element("tr", {}, cells));
}

Markup row_of(const PageTable& table, const std::vector<TableCell>& row) {
    Markup cells;
    for (size_t i = 0; i < row.size(); ++i) {
        Attributes attributes = style_of(table, i);
        if (attributes.empty() && row[i].shown.html().size() <= kShort)
            attributes.push_back({"class", "short"});
        if (row[i].value) attributes.push_back({"data-by", key_text(*row[i].value)});
        cells += element("td", attributes, row[i].shown);
    }
    return element("tr", {}, cells);
}

}  // namespace

Markup table(const PageTable& table) {
    Markup rows;
    for (const std::vector<TableCell>& row : table.rows) rows += row_of(table, row);
    Markup whole = element("caption", {}, table.name);
    whole += head_of(table);
    whole += element("tbody", {}, rows);
    Markup all =
        element("div", {{"class", "table"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", table.name}},
                element("table", {}, whole));
    if (!table.rest.empty()) all += element("p", {{"class", "rest"}}, table.rest);
    return all;
}

Markup missing(const std::string& why) { return element("p", {{"class", "missing"}}, why); }

}  // namespace gpushim::analysis
