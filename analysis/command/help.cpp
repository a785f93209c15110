// `gpushim help WORD`: what a word of the report or of the command line means, from the catalogues that the
// program works with.
#include <cstdio>
#include <span>

#include "../advice/advise.h"
#include "../failure.h"
#include "../idle/cause.h"
#include "../run/sql/run_db.h"
#include "../text/names.h"
#include "command.h"
#include "completions.h"
#include "manual.h"

namespace gpushim::analysis::command_help {

namespace {

struct Known {
    std::string name, what, words;
};
using Catalogue = std::vector<Known>;

void add_metrics(Catalogue& all) {
    const Database base = Database::in_memory();
    for (size_t i = 0; i < kRunSqlFiles; ++i)
        if (std::string_view(kRunSql[i].name).starts_with("tables/")) base.run(kRunSql[i].text);
    Query metric = base.prepare("SELECT name, unit, kind, words FROM metric_definition ORDER BY rowid");
    while (metric.step())
        all.push_back(
            {metric.text(0), "metric, " + metric.text(2) + ", unit: " + metric.text(1), metric.text(3)});
}

void add_causes(Catalogue& all) {
    for (const CauseRow& row : kCauses)
        all.push_back({row.name, std::string("cause of idle time, group: ") + name_of(row.group), row.words});
    for (size_t group = 0; group < std::size(kCauseGroups); ++group) {
        std::vector<std::string> causes;
        for (const CauseRow& row : kCauses)
            if (row.group == static_cast<CauseGroup>(group)) causes.emplace_back(row.name);
        all.push_back({kCauseGroups[group], "group of causes of idle time", listed(causes, causes.size())});
    }
}

const char* words_of(Scope scope) {
    switch (scope) {
        case Scope::kInput:
            return "what the GPU waits for";
        case Scope::kOneGpu:
            return "what one GPU is given to do";
        case Scope::kKernels:
            return "what its kernels do";
        case Scope::kManyGpus:
            return "several GPUs";
        case Scope::kOurselves:
            return "gpushim itself";
    }
    return "";
}

void add_findings(Catalogue& all) {
    for (const Rule* rule : all_rules())
        for (const RuleWords& row : std::span(kRuleWords, kRulesInWords))
            if (row.id == std::string_view(rule->id))
                all.push_back({row.id, std::string("finding, about ") + words_of(rule->scope),
                               std::string("found when: ") + row.when + "\n  gain: " + row.gain +
                                   "\n  to try: " + row.try_it});
}

void add_variables(Catalogue& all) {
    const Command* const run = command_named("run");
    if (run == nullptr) return;
    for (const Option& option : run->options)
        if (!option.is_of_the_command)
            all.push_back({variable_of(option.name),
                           std::string("variable, `gpushim run --") + option.name +
                               (option.value ? std::string(" ") + option.value : "") + "`",
                           with_default(option.help, option.by_default)});
}

constexpr Option kOptions[] = {
    {"markdown", nullptr, "print the reference part of the manual"},
    {"man", nullptr, "print the page for man"},
    {"completions", "bash|zsh|fish", "print what that shell completes command lines by"},
};

Catalogue all_that_is_known() {
    Catalogue all;
    for (const auto add : {add_metrics, add_causes, add_findings, add_variables}) add(all);
    return all;
}

std::vector<std::string> first_words() {
    std::vector<std::string> words = command_names();
    for (const ManualSection& section : manual_sections()) words.emplace_back(section.word);
    for (const Known& one : all_that_is_known()) words.push_back(one.name);
    return words;
}

int run(const Arguments& arguments) {
    if (arguments.has("markdown")) return print_as_markdown(), kFine;
    if (arguments.has("man")) return print_for_man(), kFine;
    if (const auto shell = arguments.value("completions")) return print_completions(*shell), kFine;
    if (arguments.words_.empty()) return print_commands(), kFine;
    if (arguments.words_.size() > 1) throw Failure("one word at a time: gpushim help WORD");
    const std::string& word = arguments.words_[0];
    if (word == "version")
        return std::printf("gpushim version\n  print the version, as `gpushim --version` and `-V` do\n"),
               kFine;
    if (const Command* command = command_named(word)) return print_options(*command), kFine;
    for (const ManualSection& section : manual_sections())
        if (word == section.word) return print_section(section), kFine;
    const Catalogue all = all_that_is_known();
    bool is_known = false;
    for (const Known& one : all) {
        if (one.name != word) continue;
        std::printf("%s (%s)\n  %s\n", one.name.c_str(), one.what.c_str(), one.words.c_str());
        is_known = true;
    }
    if (is_known) return kFine;
    std::vector<std::string> names = command_names();
    for (const Known& one : all) names.push_back(one.name);
    throw Failure("nothing is called '" + word + "'" + perhaps(word, names) +
                  "; known are commands, and the report's metrics, causes, findings and GPUSHIM_ variables");
}

constexpr Command kHelp = {
    "help",
    "[WORD]",
    "explain a command, metric, cause, finding or variable",
    "An unknown word gets the nearest known ones. `gpushim help` alone lists the commands, and "
    "`gpushim --version` (`-V`) prints the version.",
    -1,
    kOptions,
    run,
    false,
    first_words};
const Registration kRegistration(kHelp);

}  // namespace

}  // namespace gpushim::analysis::command_help
