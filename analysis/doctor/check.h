// What would be seen here and what not: one question is one file that registers itself, and answers with a
// line.
#pragma once

#include <string>
#include <vector>

#include "../text/json.h"

namespace gpushim::analysis {

enum class CheckVerdict { fine, limited, blind };  // as wished; less than could be; nothing would be seen

struct CheckFinding {
    CheckVerdict verdict;
    std::string what;  // "NCCL"
    std::string text;  // what was found, and what to do where it is not fine
};

struct Examined {
    std::vector<std::string> program;  // empty: none was named
};

struct Check {
    int place;
    void (*look)(const Examined&, std::vector<CheckFinding>&);
};

struct CheckRegistration {
    explicit CheckRegistration(const Check& check);
};

std::vector<CheckFinding> run_checks(const Examined& examined);

// The first line of a small file of the kernel's; empty: cannot be read.
std::string line_of(const char* path);

}  // namespace gpushim::analysis
