#include "fit.h"

#include <algorithm>

#include "../text/escape.h"
#include "../text/width.h"
#include "printed.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kIndent = 11, kWords = 3;  // of a table that is words, rows at most
constexpr size_t kFewestRows = 3;           // of a table where nothing else helps

bool is_too_long(const Report& report) {
    return as_text(report).size() > (report.has_trouble ? kMostLines : kMostWithoutTrouble);
}

// The line that counts the rest is one, too.
void cut(Table& table, size_t rows) {
    const size_t there = table.rows.size() - 1;
    if (there <= rows + (table.left_out == 0 ? 1 : 0)) return;
    table.left_out += there - rows;
    table.rows.resize(rows + 1);
}

// What a row is called, and its figure: "aten::addmm backward 345 us".
std::string words_of(const Table& table, const std::vector<std::string>& row) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i)
        if (table.alignment[i] == 'l' && row[i] != "-")
            text += shortened(for_terminal(row[i]), kWidestName) + " ";
    return text + row[table.figure];
}

Line as_words(Table table, size_t most) {
    cut(table, most);
    std::string text = table.rows[0][0];
    text.resize(std::max(text.size() + 1, kIndent), ' ');
    text += table.rows[0][table.figure] + ": ";
    for (size_t i = 1; i < table.rows.size(); ++i)
        text += (i > 1 ? ", " : "") + words_of(table, table.rows[i]);
    if (table.left_out > 0) text += ", … and " + std::to_string(table.left_out) + " more";
    return {text, kIndent};
}

// As many rows as one line has room for, but one.
Line as_words(const Table& table) {
    size_t rows = kWords;
    while (rows > 1 && width_of(as_words(table, rows).text) > kReportWidth) --rows;
    return as_words(table, rows);
}

}  // namespace

void fit(Report& report) {
    auto& blocks = report.blocks;
    for (const bool may_be_words : {true, false}) {
        for (size_t i = blocks.size(); i-- > 0 && is_too_long(report);)
            if (auto* const table = std::get_if<Table>(&blocks[i]))
                if (table->least > 0 && table->may_be_words == may_be_words) cut(*table, table->least);
        for (size_t i = blocks.size(); may_be_words && i-- > 0 && is_too_long(report);) {
            const auto* const table = std::get_if<Table>(&blocks[i]);
            if (table == nullptr || !table->may_be_words) continue;
            blocks[i] = as_words(*table);
            const auto* const before = i > 0 ? std::get_if<Line>(&blocks[i - 1]) : nullptr;
            if (before != nullptr && before->text.empty())
                blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i) - 1);
        }
    }
    for (size_t i = blocks.size(); i-- > 0 && is_too_long(report);)
        if (const auto* const line = std::get_if<Line>(&blocks[i]); line != nullptr && line->may_go)
            blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
    for (size_t i = blocks.size(); i-- > 0 && is_too_long(report);)
        if (auto* const table = std::get_if<Table>(&blocks[i]); table != nullptr && table->least > 0)
            cut(*table, kFewestRows);
}

}  // namespace gpushim::analysis
