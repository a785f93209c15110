#include "command.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "../failure.h"
#include "../process/leftovers.h"
#include "../process/memory_limit.h"
#include "../text/names.h"
#include "manual.h"
#include "shim/base/version.h"

namespace gpushim::analysis {

namespace {

// A function's own: it is there before the first registration, whatever the order of files.
std::vector<const Command*>& commands() {
    static std::vector<const Command*> all;
    return all;
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }
bool asks_for_version(std::string_view word) {
    return word == "--version" || word == "-V" || word == "version";
}

const Option& option_named(std::span<const Option> options, std::string_view word) {
    std::vector<std::string> names = {"help"};
    for (const Option& option : options) {
        if (word.starts_with("--") ? word.substr(2) == option.name
                                   : word.size() == 2 && option.letter != 0 && word[1] == option.letter)
            return option;
        names.emplace_back(option.name);
    }
    throw Failure("there is no option " + std::string(word) +
                  (word.starts_with("--") ? perhaps(word.substr(2), names, "--") : "") +
                  "; --help lists them");
}

// A name of an option has no white space in it: what has, is a query that begins with a comment, say.
bool is_option(std::string_view word) {
    if (word.size() < 2 || word[0] != '-') return false;
    return word.substr(0, word.find('=')).find_first_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

Arguments::Arguments(std::span<const Option> options, std::span<char* const> words) {
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "--") {
            command_.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
            return;
        }
        if (!is_option(word)) {
            words_.emplace_back(word);
        } else if (asks_for_help(word)) {
            wants_help_ = true;
        } else {
            const size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
            const Option& option = option_named(options, word.substr(0, equals));
            if (equals != std::string_view::npos) {
                if (option.value == nullptr)
                    throw Failure("--" + std::string(option.name) + " takes no value");
                given_[option.name] = word.substr(equals + 1);
            } else if (option.value == nullptr) {
                given_[option.name] = "1";
            } else if (++i < words.size()) {
                given_[option.name] = words[i];
            } else {
                throw Failure("--" + std::string(option.name) + " needs a value: " + option.value);
            }
        }
    }
}

std::optional<std::string> Arguments::value(std::string_view name) const {
    const auto found = given_.find(std::string(name));
    return found == given_.end() ? std::nullopt : std::optional(found->second);
}

Registration::Registration(const Command& command) { commands().push_back(&command); }

std::span<const Command* const> all_commands() {
    std::stable_sort(commands().begin(), commands().end(), [](auto a, auto b) {
        return std::tuple(a->place < 0, a->place, std::string_view(a->name)) <
               std::tuple(b->place < 0, b->place, std::string_view(b->name));
    });
    return commands();
}

const Command* command_named(std::string_view name) {
    for (const Command* command : commands())
        if (command->name == name) return command;
    return nullptr;
}

std::vector<std::string> command_names() {
    std::vector<std::string> names;
    for (const Command* command : all_commands()) names.emplace_back(command->name);
    return names;
}

void print_commands() {
    std::puts("gpushim: where does the GPU's time go?\n");
    std::string more;
    std::vector<ManualRow> rows;
    for (const Command* command : all_commands()) {
        if (command->place < 0)
            more += (more.empty() ? "" : ", ") + std::string(command->name);
        else
            rows.push_back({usage_of(*command), command->summary, ""});
    }
    print_rows(rows);
    if (!more.empty()) std::printf("\nmore: %s\n", more.c_str());
    std::puts("\n`gpushim COMMAND --help` lists the options of a command.");
    std::string words;
    for (const ManualSection& section : manual_sections())
        words += (words.empty() ? "" : ", ") + std::string(section.word);
    std::printf("`gpushim help WORD` explains a word of the report, or lists %s.\n", words.c_str());
}

void print_options(const Command& command) {
    std::printf("%s\n  %s\n\n", usage_of(command).c_str(), command.summary);
    print_rows(rows_of(command));
    print_paragraph(command.details);
}

int run_command(std::span<char* const> words) {
    if (words.empty()) {
        print_commands();
        return kUsage;
    }
    if (words.size() == 1 && asks_for_version(words[0])) {
        std::printf("gpushim %s\n", kVersion);
        return kFine;
    }
    const Command* const command = command_named(asks_for_help(words[0]) ? "help" : words[0]);
    if (command == nullptr)
        throw Failure("there is no command '" + std::string(words[0]) + "'" +
                      perhaps(words[0], command_names(), "gpushim ") + "; `gpushim --help` lists them");
    const Arguments arguments(command->options, words.subspan(1));
    if (arguments.wants_help_) {
        print_options(*command);
        return kFine;
    }
    if (!command->takes_a_program && !arguments.command_.empty())
        throw Failure(std::string(command->name) + " runs no program; what is after `--`?");
    if (!command->takes_a_program) limit_memory();  // a program would inherit it
    take_in_leftovers();
    return command->run(arguments);
}

}  // namespace gpushim::analysis
