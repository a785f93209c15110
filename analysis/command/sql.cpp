#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "../failure.h"
#include "../sqlite/rows.h"
#include "../terminal/answer.h"
#include "../terminal/progress.h"
#include "../terminal/stderr_line.h"
#include "../text/escape.h"
#include "../text/names.h"
#include "../trace/recovery.h"
#include "../trace/union_table.h"
#include "command.h"

namespace gpushim::analysis::command_sql {

namespace {

namespace fs = std::filesystem;

constexpr Option kOptions[] = {
    {"csv", nullptr, "print comma-separated values"},
    {"json", nullptr, "print an array of objects"},
    {"json-lines", nullptr,
     "print an array of the columns' names, then one for each row of one query. Types are kept: 1.0 is not "
     "1, and a blob is {\"blob\": \"HEX\"}"},
    {"parameters", "SELECT", "values for ?, ?1 and :name in the query: the columns of this query's only row"},
};

// What is asked: one file as it is, or all traces of a run as one.
struct Source {
    std::unique_ptr<Recovery> recovery;
    Inputs inputs;
    Database base;
    std::vector<std::string> elsewhere = {};  // tables of the same folder's run, which is not asked
};

constexpr std::string_view kNoTable = "no such table: ";

std::vector<std::string> tables_of(const Database& base) {
    std::vector<std::string> names;
    Query table = base.prepare(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        " ORDER BY name LIMIT 2000");
    while (table.step()) names.push_back(shortened(for_terminal(table.text(0)), 60));
    return names;
}

// The tables there are, those that may have been meant first.
std::string with_tables(const std::string& failure, const Source& source) {
    const size_t at = failure.find(kNoTable);
    if (at == std::string::npos) return failure;
    std::vector<std::string> names = tables_of(source.base);
    names.insert(names.end(), source.elsewhere.begin(), source.elsewhere.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.empty()) return failure + "; there are none";
    return failure + "; there are " + listed(most_alike_first(failure.substr(at + kNoTable.size()), names)) +
           " (.tables in the place of the query lists all)";
}

// A view of traces alone, which a run does not have.
bool lacks_a_table(const Database& run, std::string_view text) {
    try {
        run.prepare(text);
    } catch (const Failure& failure) {
        return std::string_view(failure.what()).find(kNoTable) != std::string_view::npos;
    }
    return false;
}

// question: its first statement says which of a folder's databases is meant; empty: any may come.
Source open_source(const std::string& word, std::string_view question) {
    if (fs::is_directory(word)) {
        std::vector<std::string> of_run;
        if (const fs::path run = fs::path(word) / "gpushim.run.db"; fs::exists(run)) {
            Database base(run);
            if (!lacks_a_table(base, question)) return {nullptr, {}, std::move(base)};
            of_run = tables_of(base);
        }
        auto recovery = std::make_unique<Recovery>(std::span(&word, 1));
        Inputs inputs = open_traces({&word, 1}, *recovery);
        Database all = unite(inputs.traces);
        return {std::move(recovery), std::move(inputs), std::move(all), std::move(of_run)};
    }
    if (!fs::exists(word))
        throw Failure(word +
                      ": No such file or directory; give a trace, a run database or a folder of traces");
    auto recovery = std::make_unique<Recovery>(std::span(&word, 1));
    Database base(recovery->file_of(word));
    return {std::move(recovery), {}, std::move(base)};
}

// What a query's parameters stand for: the columns of one row, by name, or by place for those without one.
struct Parameters {
    std::vector<std::string> names = {};
    std::vector<Value> values = {};

    std::optional<size_t> place_of(const char* name, size_t number) const {
        if (name == nullptr || *name == '?')
            return number <= values.size() ? std::optional(number - 1) : none();
        const auto found = std::find(names.begin(), names.end(), name + 1);
        return found == names.end() ? none() : std::optional(static_cast<size_t>(found - names.begin()));
    }
    static std::optional<size_t> none() { return {}; }
};

Parameters parameters_of(const Source& source, const std::string& text) {
    Parameters all;
    if (text.empty()) return all;
    Query row = source.base.prepare(text);
    if (!row || !row.step()) throw Failure("--parameters: the query has no row");
    for (int i = 0; i < row.columns(); ++i) {
        all.names.push_back(row.column_name(i));
        all.values.push_back(row.value(i));
    }
    return all;
}

void bind_all(Query& query, const Parameters& given) {
    for (int number = 1; number <= sqlite3_bind_parameter_count(query.raw()); ++number) {
        const char* name = sqlite3_bind_parameter_name(query.raw(), number);
        const auto place = given.place_of(name, static_cast<size_t>(number));
        if (!place)
            throw Failure("the query's parameter " +
                          (name == nullptr ? "?" + std::to_string(number) : for_terminal(name)) +
                          " has no value; --parameters gives it one");
        query.bind(number, given.values[*place]);
    }
}

void run_all(const Source& source, std::string_view text, Format format, const Parameters& given = {}) {
    try {
        const Progress asking("running the query");
        bool is_first = true;
        while (!text.empty() && is_answer_read()) {
            size_t used = 0;
            Query query = source.base.prepare(text, &used);
            text.remove_prefix(used);
            if (query) {
                if (format == Format::lines && !std::exchange(is_first, false))
                    throw Failure("--json-lines answers one query: who reads it could not tell a second one");
                bind_all(query, given);
                print_rows(query, format, stdout);
            }
            if (used == 0) break;
        }
    } catch (const Failure& failure) {
        throw Failure(with_tables(failure.what(), source), failure.code_);
    }
}

std::string text_of(const std::string& word) {
    if (!word.ends_with(".sql")) return word;
    std::ifstream file(word);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) throw Failure(word + ": cannot be read");
    return text.str();
}

void print_lines(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) std::puts(for_terminal(line).c_str());
}

// A line that begins with a dot is for us. False: end.
bool obey(const Source& source, const std::string& line, Format format) {
    if (line == ".quit" || line == ".exit") return false;
    if (line == ".tables") {
        run_all(source, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name",
                format);
    } else if (line.starts_with(".schema")) {
        Query query =
            source.base.prepare("SELECT sql FROM sqlite_schema WHERE ?1 IN ('', name) AND sql IS NOT NULL");
        query.bind(1, line.size() > 8 ? line.substr(8) : std::string());
        while (query.step()) print_lines(query.text(0) + ";");
    } else {
        std::puts(".tables   .schema [TABLE]   .quit   and SQL, each statement ended by ;");
    }
    return true;
}

// Statements from stdin, one answer each. A mistake is told and the next statement is read.
int converse(const Source& source, Format format) {
    const bool by_hand = isatty(STDIN_FILENO) != 0;
    std::string statement;
    int code = kFine;
    for (std::string line; is_answer_read();) {
        if (by_hand) std::fprintf(stderr, statement.empty() ? "gpushim> " : "    ...> ");
        if (!std::getline(std::cin, line)) break;
        try {
            if (statement.empty() && line.starts_with('.')) {
                if (!obey(source, line, format)) break;
                continue;
            }
            statement += line + "\n";
            if (sqlite3_complete(statement.c_str()) == 0) continue;
            run_all(source, std::exchange(statement, ""), format);
            std::fflush(stdout);
        } catch (const Failure& failure) {
            stderr_line(failure.what());
            if (!by_hand) code = kUsage;
        }
    }
    if (!by_hand) run_all(source, statement, format);
    return code;
}

Format format_of(const Arguments& arguments) {
    constexpr std::pair<const char*, Format> kForms[] = {
        {"csv", Format::csv}, {"json", Format::json}, {"json-lines", Format::lines}};
    Format format = Format::table;
    for (const auto& [option, form] : kForms) {
        if (!arguments.has(option)) continue;
        if (format != Format::table) throw Failure("--csv, --json or --json-lines, only one of them");
        format = form;
    }
    return format;
}

int run(const Arguments& arguments) {
    if (arguments.words_.empty() || arguments.words_.size() > 2)
        throw Failure("which file? gpushim sql FILE [\"SELECT …\" or query.sql]");
    const Format format = format_of(arguments);
    const std::string question = arguments.words_.size() == 2 ? text_of(arguments.words_[1]) : "";
    const Source source = open_source(arguments.words_[0], question);
    for (const std::string& note : source.inputs.notes) stderr_line(note);
    tell_few("left out ", source.inputs.refused);
    int code = kFine;
    if (question.starts_with('.'))
        obey(source, question, format);
    else if (arguments.words_.size() == 2)
        run_all(source, question, format, parameters_of(source, arguments.value("parameters").value_or("")));
    else
        code = converse(source, format);
    return code == kFine && !source.inputs.refused.empty() ? kIncomplete : code;
}

constexpr Command kSql = {"sql",
                          "FILE [\"SELECT …\" or query.sql]",
                          "query a trace, a run, or all traces of a folder",
                          "Without a query it reads statements from its input. It prints a table unless an "
                          "option asks for another form.",
                          3,
                          kOptions,
                          run};
const Registration kRegistration(kSql);

}  // namespace

}  // namespace gpushim::analysis::command_sql
