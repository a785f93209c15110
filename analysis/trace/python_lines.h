// Lines of Python that threads were seen in, by the library's samples: of each stack the line that its reader
// knows, the innermost of the program's own code, and whether it is in the loading of a batch. Read once;
// read-only from then on, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpushim::analysis {

class Database;

struct PythonLine {
    std::string file, function;
    std::optional<int64_t> line;  // none: the interpreter told none
};

struct PythonStackIn {
    int32_t line;  // index into `lines`
    bool loads;
};

struct PythonLines {
    std::vector<PythonLine> lines;
    std::unordered_map<int64_t, PythonStackIn> of_frame;  // by python_frame.id
};

// Not of the interpreter, and not installed beside it.
bool is_own_code(std::string_view file);
// PyTorch's loader, or a class that is called a loader and asked for what comes next. Any `__next__` would be
// too many: programs step through their training by them.
bool loads_batches(std::string_view file, std::string_view function);

PythonLines python_lines_of(const Database& base);

}  // namespace gpushim::analysis
