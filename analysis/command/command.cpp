#include "command.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "../failure.h"
#include "../process/memory_limit.h"
#include "shim/version.h"

namespace gpushim::analysis {

namespace {

// A function's own: it is there before the first registration, whatever the order of files.
std::vector<const Command*>& commands() {
    static std::vector<const Command*> all;
    return all;
}

void print_commands() {
    std::sort(commands().begin(), commands().end(), [](auto a, auto b) { return a->place < b->place; });
    std::puts("gpushim: where does the GPU's time go?\n");
    std::string more;
    for (const Command* command : commands()) {
        if (command->place < 0)
            more += (more.empty() ? "" : ", ") + std::string(command->name);
        else
            std::printf("  gpushim %-44s %s\n",
                        (command->name + std::string(" ") + command->arguments).c_str(), command->summary);
    }
    if (!more.empty()) std::printf("\nmore: %s\n", more.c_str());
    std::puts("\n`gpushim COMMAND --help` says more. Without it: LD_PRELOAD=libgpushim.so your-program");
}

void print_options(const Command& command) {
    std::printf("gpushim %s %s\n  %s\n\n", command.name, command.arguments, command.summary);
    for (const Option& option : command.options) {
        std::string text = option.letter != 0 ? std::string{'-', option.letter, ',', ' '} : "";
        text += "--" + std::string(option.name) + (option.value ? std::string(" ") + option.value : "");
        std::printf("  %-30s %s\n", text.c_str(), option.help);
    }
}

const Command& command_named(std::string_view name) {
    for (const Command* command : commands())
        if (command->name == name) return *command;
    throw Failure("there is no command '" + std::string(name) + "'; `gpushim --help` lists them");
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h" || word == "help"; }

const Option& option_named(std::span<const Option> options, std::string_view word) {
    for (const Option& option : options) {
        if (word.starts_with("--") ? word.substr(2) == option.name
                                   : word.size() == 2 && option.letter != 0 && word[1] == option.letter)
            return option;
    }
    throw Failure("there is no option " + std::string(word) + "; --help lists them");
}

}  // namespace

Arguments::Arguments(std::span<const Option> options, std::span<char* const> words) {
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "--") {
            command_.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
            return;
        }
        if (word.size() < 2 || word[0] != '-') {
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

int run_command(std::span<char* const> words) {
    if (words.size() == 1 && words[0] == std::string_view("--version")) {
        std::printf("gpushim %s\n", kVersion);
        return kFine;
    }
    if (words.empty() || asks_for_help(words[0])) {
        print_commands();
        return words.empty() ? kUsage : kFine;
    }
    const Command& command = command_named(words[0]);
    const Arguments arguments(command.options, words.subspan(1));
    if (arguments.wants_help_) {
        print_options(command);
        return kFine;
    }
    if (!command.takes_a_program && !arguments.command_.empty())
        throw Failure(std::string(command.name) + " runs no program; what is after `--`?");
    if (!command.takes_a_program) limit_memory();  // a program would inherit it
    return command.run(arguments);
}

}  // namespace gpushim::analysis
