#include "python_lines.h"

#include <map>
#include <tuple>

#include "../sqlite/database.h"
#include "code_words.h"

namespace gpushim::analysis {

namespace {

struct Word {
    PythonDoes does;
    CodeWord code;
};
constexpr Word kWords[] = {
#define WORD(does, ...) {PythonDoes::does, {__VA_ARGS__}},
#include "python_words.def"
#undef WORD
};

struct Code {
    std::string file, function;
    bool is_own, is_installed;
    std::optional<PythonDoes> told;
    LoadingStage stage, stage_by_file;
};

// As far as a stack was walked, from the outermost line.
struct Walked {
    int32_t own = PythonPlaceIn::kNoLine;     // the innermost line of own code
    int32_t inside = PythonPlaceIn::kNoLine;  // of what that called
    bool inside_installed = false;
    bool loads = false;
    PythonDoes does = PythonDoes::untold;
    bool own_does = false;  // own code says so
    LoadingStage stage = LoadingStage::untold;
};

bool is_installed_code(std::string_view file) {
    return file.find("/site-packages/") != std::string_view::npos ||
           file.find("/dist-packages/") != std::string_view::npos;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// What is loaded inside of a callback is loaded, and what a loader logs is loading. A library that calls code
// of the program has it do something else; the program's own callback is all that it calls.
void walk_on(Walked& here, const Code& code, int32_t line) {
    if (code.is_own) {
        here.own = line;
        here.inside = PythonPlaceIn::kNoLine;
        here.inside_installed = false;
    } else if (code.is_installed || !here.inside_installed) {
        here.inside = line;
        here.inside_installed = code.is_installed;
    }
    const bool begins_to_load = code.told == PythonDoes::loads && !here.loads;
    if (begins_to_load) here.stage = LoadingStage::untold;  // what calls a loader holds the whole program
    here.loads = here.loads || begins_to_load;
    const LoadingStage stage = here.loads ? code.stage : code.stage_by_file;
    if (stage != LoadingStage::untold) here.stage = stage;
    if (code.told && code.told != PythonDoes::loads) {
        here.does = *code.told;
        here.own_does = code.is_own;
    } else if (code.is_own && !here.own_does) {
        here.does = PythonDoes::untold;
    }
}

}  // namespace

bool is_own_code(std::string_view file) {
    for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/lib/python3."})
        if (has(file, part)) return false;
    return !file.starts_with("<frozen");
}

std::optional<PythonDoes> told_by(std::string_view file, std::string_view function) {
    for (const Word& word : kWords)
        if (fits(word.code, file, function)) return word.does;
    return {};
}

PythonLines python_lines_of(const Database& base) {
    PythonLines result;
    if (!base.has("python_frame") || !base.has("python_code")) return result;
    std::unordered_map<int64_t, Code> codes;
    Query code_rows = base.prepare("SELECT id, file, function FROM python_code");
    while (code_rows.step()) {
        const std::string file = code_rows.text(1), function = code_rows.text(2);
        codes[code_rows.number(0)] = {file,
                                      function,
                                      is_own_code(file),
                                      is_installed_code(file),
                                      told_by(file, function),
                                      stage_of_code(file, function),
                                      stage_of_code(file, function, Loader::not_named)};
    }
    std::map<std::tuple<int64_t, int64_t, bool>, int32_t> known;
    std::map<std::pair<int32_t, int32_t>, int32_t> known_places;
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
        Walked here = caller != walked.end() ? caller->second : Walked{};
        walk_on(here, code->second, place->second);
        walked[frames.number(0)] = here;
        const bool has_own = here.own != PythonPlaceIn::kNoLine;
        const PythonPlaceIn in = {has_own ? here.own : place->second,
                                  has_own ? here.inside : PythonPlaceIn::kNoLine};
        const auto [index, is_new_place] =
            known_places.try_emplace({in.line, in.inside}, static_cast<int32_t>(result.places.size()));
        if (is_new_place) result.places.push_back(in);
        result.of_frame[frames.number(0)] = {in.line, here.loads ? PythonDoes::loads : here.does,
                                             index->second, here.stage};
    }
    return result;
}

}  // namespace gpushim::analysis
