// Functions of Python by the names that their files and they themselves have. Pure; any thread.
#pragma once

#include <string_view>

namespace gpushim::analysis {

// folder: a part of the path, between slashes; file: its last part; function: its name, where the pattern has
// a dot with its class (told since CPython 3.11). `*`: anything.
struct CodeWord {
    std::string_view folder, file, function;
};

bool fits(const CodeWord& word, std::string_view file, std::string_view function);

}  // namespace gpushim::analysis
