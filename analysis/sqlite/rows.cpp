#include "rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "../terminal/answer.h"
#include "../text/escape.h"
#include "../text/json.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kWidest = 100;          // columns of a cell of a table
constexpr size_t kRowsToAlign = 10'000;  // what comes later takes the widths of these

std::string plain(const Value& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
    if (const auto* real = std::get_if<double>(&value)) return Json(*real).text();
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* blob = std::get_if<Blob>(&value)) return "x'" + hex(blob->bytes) + "'";
    return "";
}

Json json_of(const Value& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* blob = std::get_if<Blob>(&value)) return hex(blob->bytes);
    return nullptr;
}

// A number that is not whole by its type stays so, to the last bit; JSON has no word for infinity, and reads
// this as one.
std::string exact(double real) {
    if (std::isinf(real)) return real < 0 ? "-1e999" : "1e999";
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, real);
    const std::string_view number(text, static_cast<size_t>(end - text));
    return std::string(number) + (number.find_first_of(".e") == std::string_view::npos ? ".0" : "");
}

std::string typed(const Value& value) {
    if (const auto* real = std::get_if<double>(&value)) return exact(*real);
    if (const auto* blob = std::get_if<Blob>(&value)) return R"({"blob": ")" + hex(blob->bytes) + "\"}";
    return json_of(value).text();
}

struct Cell {
    std::string text;
    bool is_number;
};

Cell cell_of(const Value& value) {
    const bool number = std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
    return {shortened(for_terminal(plain(value)), kWidest), number};
}

class Table {
  public:
    Table(const Query& query, FILE* to) : to_(to), widths_(static_cast<size_t>(query.columns())) {
        std::vector<Cell> header;
        for (int i = 0; i < query.columns(); ++i)
            header.push_back({for_terminal(query.column_name(i)), false});
        add(header);
    }
    void add(std::vector<Cell> cells) {
        for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width_of(cells[i].text));
        rows_.push_back(std::move(cells));
        if (rows_.size() > kRowsToAlign) flush();
    }
    void flush() {
        if (!header_printed_ && rows_.size() > 1)  // what the numbers do, their headings do
            for (size_t i = 0; i < widths_.size(); ++i) rows_[0][i].is_number = rows_[1][i].is_number;
        header_printed_ = true;
        for (const auto& row : rows_) print(row);
        rows_.clear();
    }

  private:
    void print(const std::vector<Cell>& row) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) {
            const std::string fill(widths_[i] - std::min(widths_[i], width_of(row[i].text)), ' ');
            line += (i == 0 ? "" : "  ") + (row[i].is_number ? fill + row[i].text : row[i].text + fill);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        std::fprintf(to_, "%s\n", line.c_str());
    }
    FILE* to_;
    std::vector<size_t> widths_;
    std::vector<std::vector<Cell>> rows_;
    bool header_printed_ = false;
};

void print_table(Query& query, FILE* to) {
    Table table(query, to);
    while (is_answer_read() && query.step()) {
        std::vector<Cell> cells;
        for (int i = 0; i < query.columns(); ++i) cells.push_back(cell_of(query.value(i)));
        table.add(std::move(cells));
    }
    table.flush();
}

void print_csv(Query& query, FILE* to) {
    for (int i = 0; i < query.columns(); ++i)
        std::fprintf(to, "%s%s", i == 0 ? "" : ",", for_csv(query.column_name(i)).c_str());
    std::fputc('\n', to);
    while (is_answer_read() && query.step()) {
        for (int i = 0; i < query.columns(); ++i) {
            const Value value = query.value(i);
            const bool is_text = std::holds_alternative<std::string>(value);
            const std::string text = plain(value);
            std::fprintf(to, "%s%s", i == 0 ? "" : ",", (is_text ? for_csv(text) : text).c_str());
        }
        std::fputc('\n', to);
    }
}

void print_json(Query& query, FILE* to) {
    const char* before = "[\n";
    while (is_answer_read() && query.step()) {
        Json row = Json::object();
        for (int i = 0; i < query.columns(); ++i) row.set(query.column_name(i), json_of(query.value(i)));
        std::fprintf(to, "%s  %s", before, row.text(2).c_str());
        before = ",\n";
    }
    std::fputs(*before == '[' ? "[]\n" : "\n]\n", to);
}

template <class Text>
void print_line(int columns, Text text, FILE* to) {
    for (int i = 0; i < columns; ++i) std::fprintf(to, "%s%s", i == 0 ? "[" : ", ", text(i).c_str());
    std::fputs(columns == 0 ? "[]\n" : "]\n", to);
}

void print_lines(Query& query, FILE* to) {
    print_line(
        query.columns(), [&](int i) { return Json(query.column_name(i)).text(); }, to);
    while (is_answer_read() && query.step())
        print_line(
            query.columns(), [&](int i) { return typed(query.value(i)); }, to);
}

}  // namespace

void print_rows(Query& query, Format format, FILE* to) {
    switch (format) {
        case Format::table:
            return print_table(query, to);
        case Format::csv:
            return print_csv(query, to);
        case Format::json:
            return print_json(query, to);
        case Format::lines:
            return print_lines(query, to);
    }
}

}  // namespace gpushim::analysis
