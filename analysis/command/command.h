// What `gpushim` can do: a command is one file that registers itself. Its options are data; they are parsed
// here, so that all commands understand them alike.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

struct Option {
    const char* name;   // --name
    const char* value;  // what to write after it; null: nothing, it is a switch
    const char* help;
    char letter = 0;                 // -l, too
    const char* by_default = "";     // empty: nothing, or what `help` says
    bool is_of_the_command = false;  // of `run`: no variable of the library is the same
};

class Arguments {
  public:
    Arguments(std::span<const Option> options, std::span<char* const> words);  // throws Failure

    bool has(std::string_view name) const { return given_.contains(std::string(name)); }
    std::optional<std::string> value(std::string_view name) const;

    std::vector<std::string> words_;  // neither option nor value
    std::vector<char*> command_;      // what followed `--`
    bool wants_help_ = false;

  private:
    std::map<std::string, std::string> given_;
};

struct Command {
    const char* name;
    const char* arguments;  // as in "report [RUN_OR_TRACES…]"
    const char* summary;
    const char* details;  // sentences, after the summary; may be empty
    int place;            // in the list that --help shows; below 0: under "more"
    std::span<const Option> options;
    int (*run)(const Arguments&);
    bool takes_a_program = false;  // the first word that is no option begins somebody else's command line
    std::vector<std::string> (*first_words)() =
        nullptr;  // that shells offer; null: what `arguments` begins with
};

struct Registration {
    explicit Registration(const Command& command);
};

// All there are, in the order of --help.
std::span<const Command* const> all_commands();
const Command* command_named(std::string_view name);  // null: there is none
std::vector<std::string> command_names();

void print_commands();
void print_options(const Command& command);

// What main calls: the words after the program's name.
int run_command(std::span<char* const> words);

}  // namespace gpushim::analysis
