#include "completions.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "../failure.h"
#include "command.h"

namespace gpushim::analysis {

namespace {

constexpr const char* kFilesAndFolders[] = {"FILE", "FOLDER", "DIR",  "PATTERN",
                                            "RUN",  "TRACE",  "BASE", "HISTORY"};

// What may stand at a place of the line.
struct Offer {
    std::vector<std::string> words;
    bool files = false;
};

std::vector<std::string> parts(std::string_view text, char between) {
    std::vector<std::string> all;
    for (size_t end; (end = text.find(between)) != std::string_view::npos; text.remove_prefix(end + 1))
        all.emplace_back(text.substr(0, end));
    all.emplace_back(text);
    return all;
}

bool are_files(std::string_view placeholder) {
    return std::any_of(std::begin(kFilesAndFolders), std::end(kFilesAndFolders),
                       [&](const char* name) { return placeholder.find(name) != std::string_view::npos; });
}

// "auto|off" is two words, as is "[kineto|nsys] FILE…" of a command; "chrome FILE" begins with one.
std::vector<std::string> spelled_out(std::string_view placeholder) {
    std::string_view first = placeholder.substr(0, placeholder.find(' '));
    if (first.starts_with('[') && first.ends_with(']')) first = first.substr(1, first.size() - 2);
    if (first.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789|") != std::string_view::npos) return {};
    return parts(first, '|');
}

Offer values_of(const Option& option) {
    Offer offer{spelled_out(option.value), are_files(option.value)};
    if (offer.words.size() < 2) offer.words.clear();  // an example, as in --price 2
    return offer;
}

Offer words_of(const Command& command) {
    if (command.takes_a_program) return {};
    return {command.first_words != nullptr ? command.first_words() : spelled_out(command.arguments),
            are_files(command.arguments)};
}

// Whether a word has to come before the first file.
bool begins_with_word(const Command& command) {
    return !std::string_view(command.arguments).starts_with('[') && !spelled_out(command.arguments).empty();
}

std::string joined(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    return line;
}

std::string first_sentence(std::string_view text) {
    return std::string(text.substr(0, std::min(text.find(". "), text.find("; "))));
}

// With a backslash before each of these.
std::string escaped(std::string_view text, std::string_view characters) {
    std::string line;
    for (const char c : text) {
        if (characters.find(c) != std::string_view::npos) line += '\\';
        line += c;
    }
    return line;
}

// --- bash

constexpr char kBashHead[] = R"(# bash completion for gpushim, made by `gpushim help --completions bash`

_gpushim_words() {
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$word")
}

_gpushim_files() {
    compopt -o filenames
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
}

_gpushim() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i
    COMPREPLY=()
    for ((i = 2; i < COMP_CWORD; ++i)); do
        [[ ${COMP_WORDS[i]} == -- ]] || continue
        ((i + 1 < COMP_CWORD)) || mapfile -t COMPREPLY < <(compgen -c -- "$word")
        _gpushim_files
        return
    done
    # Of --option=value bash makes three words.
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD-2]}
    fi
)";

void print_bash_values(const Command& command) {
    for (const Option& option : command.options) {
        if (option.value == nullptr) continue;
        std::printf("    '%s --%s'", command.name, option.name);
        if (option.letter != 0) std::printf(" | '%s -%c'", command.name, option.letter);
        const Offer offer = values_of(option);
        std::printf(") ");
        if (!offer.words.empty()) std::printf("_gpushim_words '%s'; ", joined(offer.words).c_str());
        std::printf("%sreturn ;;\n", offer.files ? "_gpushim_files; " : "");
    }
}

void print_bash_words(const Command& command) {
    std::string options = "--help";
    for (const Option& option : command.options) options += std::string(" --") + option.name;
    std::printf("    %s)\n        if [[ $word == -* ]]; then _gpushim_words '%s%s'; return; fi\n",
                command.name, options.c_str(), command.takes_a_program ? " --" : "");
    const Offer offer = words_of(command);
    if (!offer.words.empty()) std::printf("        _gpushim_words '%s'\n", joined(offer.words).c_str());
    if (offer.files)
        std::printf("        %s_gpushim_files\n", begins_with_word(command) ? "((COMP_CWORD < 3)) || " : "");
    std::puts("        ;;");
}

void print_for_bash() {
    std::printf("%s", kBashHead);
    std::printf("    if ((COMP_CWORD == 1)); then _gpushim_words '%s --help --version'; return; fi\n",
                joined(command_names()).c_str());
    std::puts("    case \"${COMP_WORDS[1]} $before\" in");
    for (const Command* command : all_commands()) print_bash_values(*command);
    std::puts("    esac\n    case ${COMP_WORDS[1]} in");
    for (const Command* command : all_commands()) print_bash_words(*command);
    std::puts("    esac\n}\n\ncomplete -F _gpushim gpushim");
}

// --- zsh

// A word as it is; within single quotes nothing but they have a meaning.
std::string for_zsh(std::string text) {
    for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4)
        text.replace(at, 1, "'\\''");
    return "'" + text + "'";
}

void print_zsh_option(const Option& option) {
    std::string what = "[" + escaped(first_sentence(option.help), "[]\\") + "]";
    if (option.value != nullptr) {
        const Offer offer = values_of(option);
        what += ":" + escaped(option.value, ":\\") + ":";
        if (!offer.words.empty()) what += "(" + joined(offer.words) + ")";
        if (offer.files) what += "_files";
    }
    const std::string name = std::string("--") + option.name + (option.value != nullptr ? "=" : "");
    std::printf(" \\\n            %s", for_zsh(name + what).c_str());
    if (option.letter != 0) std::printf(" \\\n            %s", for_zsh({'-', option.letter}).c_str());
    if (option.letter != 0) std::printf("%s", for_zsh(what).c_str());
}

void print_zsh_command(const Command& command) {
    std::printf("    %s)\n        _arguments '--help[print the options]'", command.name);
    for (const Option& option : command.options) print_zsh_option(option);
    const Offer offer = words_of(command);
    const std::string words = "(" + joined(offer.words) + ")";
    if (begins_with_word(command))
        std::printf(" \\\n            '1:word:%s' '*:file:_files'", words.c_str());
    else if (offer.files && !offer.words.empty())
        std::printf(
            " \\\n            '*:word or file:{_alternative \"words:word:%s\" \"files:file:_files\"}'",
            words.c_str());
    else if (offer.files)
        std::printf(" \\\n            '*:file:_files'");
    else if (!offer.words.empty())
        std::printf(" \\\n            '1:word:%s'", words.c_str());
    std::puts("\n        ;;");
}

// Behind `--` the line is the program's.
constexpr char kZshProgram[] = R"(    integer program=${words[(i)--]}
    if ((program < CURRENT)); then
        shift $program words
        ((CURRENT -= program))
        _normal
        return
    fi
)";

void print_for_zsh() {
    std::puts("#compdef gpushim\n# made by `gpushim help --completions zsh`\n\n_gpushim() {");
    std::puts("    local -a known=(");
    for (const Command* command : all_commands())
        std::printf("        %s:%s\n", command->name, for_zsh(command->summary).c_str());
    std::puts(
        "    )\n    if ((CURRENT == 2)); then\n        _describe command known\n        return\n    fi");
    std::printf("%s", kZshProgram);
    std::puts("    shift words\n    ((--CURRENT))\n    case $words[1] in");
    for (const Command* command : all_commands()) print_zsh_command(*command);
    std::puts("    esac\n}\n\n_gpushim \"$@\"");
}

// --- fish

std::string for_fish(const std::string& text) { return "'" + escaped(text, "\\'") + "'"; }

constexpr char kFishHead[] = R"(# fish completion for gpushim, made by `gpushim help --completions fish`

function __gpushim_has_no_command
    test (count (commandline -opc)) -eq 1
end

function __gpushim_has_program
    contains -- -- (commandline -opc)
end

function __gpushim_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]; and not __gpushim_has_program
end

# No word beside the command yet.
function __gpushim_begins
    __gpushim_is $argv[1]; and test (count (commandline -opc)) -eq 2
end

# What the program behind `--` would be offered.
function __gpushim_program
    set -l words (commandline -opc)
    set -l first (math (contains -i -- -- $words) + 1)
    set -l own
    test $first -le (count $words); and set own (string escape -- $words[$first..-1])
    complete -C (string join ' ' -- $own (commandline -ct))
end

complete -c gpushim -f
complete -c gpushim -n __gpushim_has_program -a '(__gpushim_program)'
)";

void print_fish_option(const Command& command, const Option& option) {
    std::printf("complete -c gpushim -n '__gpushim_is %s' -l %s", command.name, option.name);
    if (option.letter != 0) std::printf(" -s %c", option.letter);
    if (option.value != nullptr) {
        const Offer offer = values_of(option);
        std::printf(offer.files ? " -r -F" : " -x");
        if (!offer.words.empty()) std::printf(" -a '%s'", joined(offer.words).c_str());
    }
    std::printf(" -d %s\n", for_fish(first_sentence(option.help)).c_str());
}

void print_for_fish() {
    std::printf("%s", kFishHead);
    for (const Command* command : all_commands())
        std::printf("complete -c gpushim -n __gpushim_has_no_command -a %s -d %s\n", command->name,
                    for_fish(command->summary).c_str());
    for (const Command* command : all_commands()) {
        for (const Option& option : command->options) print_fish_option(*command, option);
        const Offer offer = words_of(*command);
        const char* const name = command->name;
        if (!offer.words.empty())
            std::printf("complete -c gpushim -n '%s %s' -a '%s'\n",
                        begins_with_word(*command) ? "__gpushim_begins" : "__gpushim_is", name,
                        joined(offer.words).c_str());
        if (offer.files)
            std::printf("complete -c gpushim -n '__gpushim_is %s%s' -F\n", name,
                        begins_with_word(*command)
                            ? std::string("; and not __gpushim_begins ").append(name).c_str()
                            : "");
    }
}

struct Shell {
    const char* name;
    void (*print)();
};
constexpr Shell kShells[] = {{"bash", print_for_bash}, {"zsh", print_for_zsh}, {"fish", print_for_fish}};

}  // namespace

void print_completions(const std::string& shell) {
    for (const Shell& known : kShells)
        if (shell == known.name) return known.print();
    throw Failure("--completions " + shell + ": bash, zsh or fish");
}

}  // namespace gpushim::analysis
