#include "python_lines.h"

#include <map>
#include <tuple>

#include "../sqlite/database.h"

namespace gpushim::analysis {

namespace {

struct Word {
    PythonDoes does;
    std::string_view folder, file, function;
};
constexpr Word kWords[] = {
#define WORD(does, ...) {PythonDoes::does, __VA_ARGS__},
#include "python_words.def"
#undef WORD
};

struct Code {
    std::string file, function;
    bool is_own, is_installed;
    std::optional<PythonDoes> told;
};

// As far as a stack was walked, from the outermost line.
struct Walked {
    int32_t own = PythonPlaceIn::kNoLine;     // the innermost line of own code
    int32_t inside = PythonPlaceIn::kNoLine;  // of what that called
    bool inside_installed = false;
    bool loads = false;
    PythonDoes does = PythonDoes::untold;
    bool own_does = false;  // own code says so
};

bool is_installed_code(std::string_view file) {
    return file.find("/site-packages/") != std::string_view::npos ||
           file.find("/dist-packages/") != std::string_view::npos;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// `*`: anything.
bool is_like(std::string_view text, std::string_view pattern) {
    const size_t star = pattern.find('*');
    if (star == std::string_view::npos) return text == pattern;
    if (!text.starts_with(pattern.substr(0, star))) return false;
    const std::string_view rest = pattern.substr(star + 1);
    for (size_t at = star; at <= text.size(); ++at)
        if (is_like(text.substr(at), rest)) return true;
    return false;
}

std::string_view behind_last(char mark, std::string_view text) {
    const size_t at = text.rfind(mark);
    return at == std::string_view::npos ? text : text.substr(at + 1);
}

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
    here.loads = here.loads || code.told == PythonDoes::loads;
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
    const std::string path = "/" + std::string(file);
    for (const Word& word : kWords) {
        const std::string_view name = has(word.function, ".") ? function : behind_last('.', function);
        if (has(path, word.folder) && is_like(behind_last('/', path), word.file) &&
            is_like(name, word.function))
            return word.does;
    }
    return {};
}

PythonLines python_lines_of(const Database& base) {
    PythonLines result;
    if (!base.has("python_frame") || !base.has("python_code")) return result;
    std::unordered_map<int64_t, Code> codes;
    Query code_rows = base.prepare("SELECT id, file, function FROM python_code");
    while (code_rows.step()) {
        const std::string file = code_rows.text(1), function = code_rows.text(2);
        codes[code_rows.number(0)] = {file, function, is_own_code(file), is_installed_code(file),
                                      told_by(file, function)};
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
                                             index->second};
    }
    return result;
}

}  // namespace gpushim::analysis
