// Lines of Python that threads were seen in, by the library's samples: of each stack the line that its reader
// knows, the innermost of the program's own code, where that was in a library, and what it does, by names of
// files and functions (python_words.def). Read once; read-only from then on, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host_inside.h"
#include "loading_stage.h"

namespace gpushim::analysis {

class Database;

struct PythonLine {
    std::string file, function;
    std::optional<int64_t> line;  // none: the interpreter told none
};

// A line of the program, and the innermost line of the libraries that it called into: where all of a program
// is one call of a trainer, its own line tells nothing.
struct PythonPlaceIn {
    int32_t line;              // index into `lines`
    int32_t inside = kNoLine;  // … of what is installed beside the interpreter; else of the interpreter's own

    static constexpr int32_t kNoLine = -1;
};

struct PythonStackIn {
    int32_t line;  // index into `lines`
    PythonDoes does;
    int32_t place;                              // index into `places`
    LoadingStage stage = LoadingStage::untold;  // if it loads: by the innermost name that tells
};

struct PythonLines {
    std::vector<PythonLine> lines;
    std::vector<PythonPlaceIn> places;
    std::unordered_map<int64_t, PythonStackIn> of_frame;  // by python_frame.id
};

// Not of the interpreter, and not installed beside it.
bool is_own_code(std::string_view file);
// What that function does, and what it calls. None: it tells nothing; `untold`: something else than its
// caller.
std::optional<PythonDoes> told_by(std::string_view file, std::string_view function);

PythonLines python_lines_of(const Database& base);

}  // namespace gpushim::analysis
