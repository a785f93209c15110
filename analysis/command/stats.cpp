// `gpushim stats`: the tables of Nsight Systems, by their names.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "../failure.h"
#include "../sqlite/rows.h"
#include "../stats/stats_source.h"
#include "../terminal/answer.h"
#include "../terminal/progress.h"
#include "../terminal/stderr_line.h"
#include "../text/names.h"
#include "../trace/recovery.h"
#include "../trace/union_table.h"
#include "command.h"
#include "run_source.h"

namespace gpushim::analysis::command_stats {

namespace {

constexpr Option kOptions[] = {
    {"format", "table|csv|json", "how the tables are printed", 0, "table"},
};

Format format_of(const std::string& name) {
    if (name == "table") return Format::table;
    if (name == "csv") return Format::csv;
    if (name == "json") return Format::json;
    throw Failure("--format " + name + ": table, csv or json");
}

struct Asked {
    std::vector<StatsReport> reports;
    std::vector<std::string> inputs;
};

std::vector<std::string> names_of(const std::vector<StatsReport>& reports) {
    std::vector<std::string> names;
    for (const StatsReport& report : reports) names.emplace_back(report.name);
    return names;
}

// A word is a report's name or a file. What is neither was meant as a name.
Asked asked_in(const std::vector<std::string>& words) {
    const std::vector<StatsReport> all = all_stats_reports();
    Asked asked;
    for (const std::string& word : words) {
        const auto named =
            std::find_if(all.begin(), all.end(), [&](const StatsReport& one) { return one.name == word; });
        if (named != all.end())
            asked.reports.push_back(*named);
        else if (std::filesystem::exists(word))
            asked.inputs.push_back(word);
        else
            throw Failure(word + ": no such file, and no such report; there are " +
                          listed(most_alike_first(word, names_of(all))));
    }
    if (asked.reports.empty())
        std::copy_if(all.begin(), all.end(), std::back_inserter(asked.reports),
                     [](const StatsReport& one) { return one.name.ends_with("_sum"); });
    if (asked.inputs.empty()) asked.inputs.emplace_back(".");
    return asked;
}

// One report is its rows and nothing else. Several are told apart: by a line before each, or as the members
// of an object.
template <class Ask>
void print_all(const std::vector<StatsReport>& reports, Format format, Ask&& rows_of) {
    const bool is_one = reports.size() == 1;
    const char* before = "{\n";
    for (const StatsReport& report : reports) {
        Query rows = rows_of(report);
        const std::string name(report.name);
        if (!is_one && format == Format::json)
            std::printf("%s\"%s\": ", std::exchange(before, ",\n"), name.c_str());
        else if (!is_one)
            std::printf("\n ** %s (%s):\n\n", report.title, name.c_str());
        print_rows(rows, format, stdout);
        if (!is_answer_read()) return;
    }
    if (!is_one && format == Format::json) std::puts("}");
}

// Of a run without its traces there is what it has sums of.
int print_of_run(Asked asked, const Database& run, Format format) {
    std::vector<std::string> missing;
    std::erase_if(asked.reports, [&](const StatsReport& report) {
        if (report.view_of_run == nullptr) missing.emplace_back(report.name);
        return report.view_of_run == nullptr;
    });
    print_all(asked.reports, format, [&](const StatsReport& report) {
        return run.prepare(std::string("SELECT * FROM ") + report.view_of_run);
    });
    if (missing.empty()) return kFine;
    stderr_line("a run database does not hold " + listed(missing) + ": give the folder of its traces");
    return kIncomplete;
}

int print_of_traces(const Asked& asked, Format format) {
    Recovery recovery(asked.inputs);
    const Inputs inputs = open_traces(asked.inputs, recovery);
    for (const std::string& note : inputs.notes) stderr_line(note);
    tell_few("left out ", inputs.refused);
    StatsSource source(unite(inputs.traces));
    print_all(asked.reports, format, [&](const StatsReport& report) {
        const Progress reading("reading the traces");
        return source.with(report.wants).prepare(report.sql);
    });
    for (const std::string& note : source.left_out()) stderr_line(note);
    for (const StatsReport& report : asked.reports)
        if (report.note != nullptr) stderr_line(report.note);
    return inputs.refused.empty() ? kFine : kIncomplete;
}

int run(const Arguments& arguments) {
    const Format format = format_of(arguments.value("format").value_or("table"));
    const Asked asked = asked_in(arguments.words_);
    if (const auto given = run_given(asked.inputs)) return print_of_run(asked, *given, format);
    return print_of_traces(asked, format);
}

std::vector<std::string> first_words() { return names_of(all_stats_reports()); }

constexpr Command kStats = {"stats",
                            "[REPORT…] [RUN_OR_TRACES…]",
                            "print the tables that nsys users type",
                            "The reports have the names, columns and units of Nsight Systems': "
                            "cuda_gpu_kern_sum, cuda_gpu_kern_gb_sum, cuda_gpu_mem_time_sum, "
                            "cuda_gpu_mem_size_sum, cuda_gpu_trace, cuda_api_sum, cuda_kern_exec_sum, "
                            "nvtx_gpu_proj_sum. Its rules are there, too, each with at most 50 rows: "
                            "cuda_memcpy_async, cuda_memcpy_sync, cuda_memset_sync, cuda_api_sync, "
                            "gpu_time_util. Without a name it prints all summaries. What is not recorded "
                            "is empty.",
                            4,
                            kOptions,
                            run,
                            false,
                            first_words};
const Registration kRegistration(kStats);

}  // namespace

}  // namespace gpushim::analysis::command_stats
