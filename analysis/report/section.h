// A section of the report is one file that registers itself: one question, answered from the run database as
// lines for people and as members of the JSON object. Those that read traces say nothing where there are
// none. How lines look is for printed.h.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../text/json.h"
#include "source.h"

namespace gpushim::analysis {

// Begins with a word in capitals, or with spaces where it goes on with what the line before began.
struct Line {
    std::string text;
    // Of the lines that it takes all but the first begin with so many spaces. 0: as its section has them.
    size_t indent = 0;
    bool may_go = false;  // where the report is too long: --all has it
};

struct Table {
    std::string alignment;
    std::vector<std::vector<std::string>> rows;  // the first has the headings
    size_t left_out;                             // rows that were too many
    // What becomes of it where the report is too long: it has only so many rows, then it is words. 0: it
    // stays.
    size_t least = 0;
    bool may_be_words = false;
    size_t figure = 0;  // the column whose figures these words have
};

struct Report {
    std::vector<std::variant<Line, Table>> blocks;
    Json json = Json::object();
    bool is_of_steps = false;  // of those that were asked for, as sections in kOfSteps always are
    bool has_trouble = false;  // something to do, or to mistrust: it may be longer then

    void add(Report&& part);
    void line(const std::string& text);
    void paragraph(const std::string& text, size_t indent, bool may_go = false);

    // Rows of cells in columns, the first row being the headings: 'l' begins a column at the left, 'r' ends
    // it at the right. Of more than `most` rows the rest is counted in a line of its own.
    Table& table(const char* alignment, std::vector<std::vector<std::string>> rows, size_t most);
};

// The report from its first line to its last: sections by the names of their files. The answer, then what to
// do, then how the time went; what is known of the run itself comes last.
constexpr std::string_view kSections[] = {
    "verdict",
    "hang_verdict",
    "contradictions",
    "findings",
    "run",
    "steps",
    "changes",
    "serving",
    "flops",
    "energy",
    "phases",
    "gpus",
    "shared_gpus",
    "idle",
    "windows",
    "launch",
    "streams",
    "copies",
    "allreduce",
    "collectives",
    "nccl",
    "skew",
    "kernels",
    "graphs",
    "peak_memory",
    "failed_allocations",
    "certain",
    "syncs",
    "calls",
    "ranges",
    "range_kernels",
    "operators",
    "memory",
    "devices",
    "spans",
    "trust",
    "ledger",
};

// Of the steps that were asked for (--from, --to). All others are of the whole run, and say so then, but for
// those that could not be of anything else.
constexpr std::string_view kOfSteps[] = {"steps", "flops", "phases", "gpus", "idle"};
constexpr std::string_view kOfNoSteps[] = {"verdict", "hang_verdict", "contradictions", "run",
                                           "spans",   "trust",        "ledger"};
// Members of those sections that are of the whole run all the same.
constexpr std::string_view kOfWholeRun[] = {"idle_ranges", "idle_python", "input_stages"};

// Which of `names` it is; one that is not among them does not compile.
template <size_t count>
consteval size_t place_among(const std::string_view (&names)[count], std::string_view name) {
    size_t place = 0;
    while (names[place] != name) ++place;
    return place;
}

struct Section {
    using Write = void(const ReportSource&, Report&);
    consteval Section(std::string_view name, Write* writes, bool detail = false)
        : place(place_among(kSections, name)), write(writes), is_detail(detail) {}

    size_t place;  // in the report
    Write* write;
    bool is_detail;  // its lines are printed where all was asked for; its JSON always
};

struct SectionRegistration {
    explicit SectionRegistration(const Section& section);
};

Report write_report(const ReportSource& source);

}  // namespace gpushim::analysis
