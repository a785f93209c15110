#include "python_lines.h"

#include <map>
#include <tuple>

#include "../sqlite/database.h"

namespace gpushim::analysis {

namespace {

struct Code {
    std::string file, function;
    bool is_own, loads;
};

struct Walked {
    int32_t own;  // the innermost line of own code; -1: none
    bool loads;
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

bool is_own_code(std::string_view file) {
    for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/lib/python3."})
        if (has(file, part)) return false;
    return !file.starts_with("<frozen");
}

bool loads_batches(std::string_view file, std::string_view function) {
    return has(file, "torch/utils/data/") || has(function, "DataLoader") ||
           function.ends_with("Loader.__next__");
}

PythonLines python_lines_of(const Database& base) {
    PythonLines result;
    if (!base.has("python_frame") || !base.has("python_code")) return result;
    std::unordered_map<int64_t, Code> codes;
    Query code_rows = base.prepare("SELECT id, file, function FROM python_code");
    while (code_rows.step()) {
        const std::string file = code_rows.text(1), function = code_rows.text(2);
        codes[code_rows.number(0)] = {file, function, is_own_code(file), loads_batches(file, function)};
    }
    std::map<std::tuple<int64_t, int64_t, bool>, int32_t> known;
    std::unordered_map<int64_t, Walked> walked;
    // Callers come before what they call.
    Query frames = base.prepare("SELECT id, caller_id, code_id, line FROM python_frame ORDER BY id");
    while (frames.step()) {
        const auto code = codes.find(frames.number(2));
        if (code == codes.end()) continue;
        const auto line = frames.maybe(3);
        const auto [place, is_new] = known.try_emplace({frames.number(2), line.value_or(0), line.has_value()},
                                                       static_cast<int32_t>(result.lines.size()));
        if (is_new) result.lines.push_back({code->second.file, code->second.function, line});
        const auto caller = walked.find(frames.maybe(1).value_or(0));
        Walked here = caller != walked.end() ? caller->second : Walked{-1, false};
        if (code->second.is_own) here.own = place->second;
        here.loads = here.loads || code->second.loads;
        walked[frames.number(0)] = here;
        result.of_frame[frames.number(0)] = {here.own >= 0 ? here.own : place->second, here.loads};
    }
    return result;
}

}  // namespace gpushim::analysis
