#include <sqlite3.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "../failure.h"
#include "../process/recovery.h"
#include "../text/escape.h"
#include "../text/rows.h"
#include "../text/tell.h"
#include "../trace/union_table.h"
#include "command.h"

namespace gpushim::analysis {

namespace {

namespace fs = std::filesystem;

constexpr Option kOptions[] = {
    {"csv", nullptr, "print comma-separated values"},
    {"json", nullptr, "print an array of objects"},
};

// What is asked: one file as it is, or all traces of a run as one.
struct Source {
    std::unique_ptr<Recovery> recovery;
    Inputs inputs;
    Database base;
};

// A view of traces alone, which a run does not have.
bool lacks_a_table(const Database& run, std::string_view text) {
    try {
        run.prepare(text);
    } catch (const Failure& failure) {
        return std::string_view(failure.what()).find("no such table") != std::string_view::npos;
    }
    return false;
}

// question: its first statement says which of a folder's databases is meant; empty: any may come.
Source open_source(const std::string& word, std::string_view question) {
    if (fs::is_directory(word)) {
        if (const fs::path run = fs::path(word) / "gpushim.run.db"; fs::exists(run)) {
            Database base(run);
            if (!lacks_a_table(base, question)) return {nullptr, {}, std::move(base)};
        }
        auto recovery = std::make_unique<Recovery>(std::span(&word, 1));
        Inputs inputs = open_traces({&word, 1}, *recovery);
        Database all = unite(inputs.traces);
        return {std::move(recovery), std::move(inputs), std::move(all)};
    }
    auto recovery = std::make_unique<Recovery>(std::span(&word, 1));
    Database base(recovery->file_of(word));
    return {std::move(recovery), {}, std::move(base)};
}

void run_all(const Database& base, std::string_view text, Format format) {
    while (!text.empty()) {
        size_t used = 0;
        Query query = base.prepare(text, &used);
        text.remove_prefix(used);
        if (query) print_rows(query, format, stdout);
        if (used == 0) break;
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
bool obey(const Database& base, const std::string& line, Format format) {
    if (line == ".quit" || line == ".exit") return false;
    if (line == ".tables") {
        run_all(base, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name", format);
    } else if (line.starts_with(".schema")) {
        Query query =
            base.prepare("SELECT sql FROM sqlite_schema WHERE ?1 IN ('', name) AND sql IS NOT NULL");
        query.bind(1, line.size() > 8 ? line.substr(8) : std::string());
        while (query.step()) print_lines(query.text(0) + ";");
    } else {
        std::puts(".tables   .schema [TABLE]   .quit   and SQL, each statement ended by ;");
    }
    return true;
}

// Statements from stdin, one answer each. A mistake is told and the next statement is read.
int converse(const Database& base, Format format) {
    const bool by_hand = isatty(STDIN_FILENO) != 0;
    std::string statement;
    int code = kFine;
    for (std::string line;;) {
        if (by_hand) std::fprintf(stderr, statement.empty() ? "gpushim> " : "    ...> ");
        if (!std::getline(std::cin, line)) break;
        try {
            if (statement.empty() && line.starts_with('.')) {
                if (!obey(base, line, format)) break;
                continue;
            }
            statement += line + "\n";
            if (sqlite3_complete(statement.c_str()) == 0) continue;
            run_all(base, std::exchange(statement, ""), format);
            std::fflush(stdout);
        } catch (const Failure& failure) {
            tell(failure.what());
            if (!by_hand) code = kUsage;
        }
    }
    if (!by_hand) run_all(base, statement, format);
    return code;
}

int run(const Arguments& arguments) {
    if (arguments.words_.empty() || arguments.words_.size() > 2)
        throw Failure("which file? gpushim sql FILE [\"SELECT …\" or query.sql]");
    if (arguments.has("csv") && arguments.has("json")) throw Failure("--csv or --json, not both");
    const Format format = arguments.has("csv")    ? Format::csv
                          : arguments.has("json") ? Format::json
                                                  : Format::table;
    const std::string question = arguments.words_.size() == 2 ? text_of(arguments.words_[1]) : "";
    const Source source = open_source(arguments.words_[0], question);
    for (const std::string& note : source.inputs.notes) tell(note);
    for (const std::string& refused : source.inputs.refused) tell("left out " + refused);
    int code = kFine;
    if (arguments.words_.size() == 2)
        run_all(source.base, question, format);
    else
        code = converse(source.base, format);
    return code == kFine && !source.inputs.refused.empty() ? kIncomplete : code;
}

constexpr Command kSql = {
    "sql", "FILE [\"SELECT …\" or query.sql]", "ask a trace, or all traces of a folder", 3, kOptions, run};
const Registration kRegistration(kSql);

}  // namespace

}  // namespace gpushim::analysis
