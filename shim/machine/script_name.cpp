#include "script_name.h"

namespace gpushim::shim {

namespace {

bool is_python(std::string_view executable) {
    return executable.starts_with("python") || executable.starts_with("pypy");
}

std::span<const char* const> remembered;

std::string_view without_folder(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// What the letters of one word, -um, say of the words behind it.
enum class Behind { option, value, module, command };
Behind behind(std::string_view letters) {
    for (size_t i = 0; i < letters.size(); ++i) {
        const bool is_last = i + 1 == letters.size();
        if (letters[i] == 'c') return Behind::command;
        if (letters[i] == 'm') return is_last ? Behind::module : Behind::command;  // -mNAME: hardly anybody
        if (letters[i] == 'W' || letters[i] == 'X') return is_last ? Behind::value : Behind::option;
    }
    return Behind::option;
}

}  // namespace

void remember_arguments(int count, const char* const* words) {
    if (words != nullptr && count > 0) remembered = {words, static_cast<size_t>(count)};
}

std::string_view script_in(std::string_view executable, std::span<const char* const> arguments) {
    if (!is_python(executable)) return {};
    const auto word = [&](size_t at) {
        const bool is_there = at < arguments.size() && arguments[at] != nullptr;
        return is_there ? std::string_view(arguments[at]) : std::string_view();
    };
    for (size_t at = 1; !word(at).empty(); ++at) {  // behind the interpreter
        if (word(at) == "-") return {};
        if (!word(at).starts_with('-')) return without_folder(word(at));
        if (word(at).starts_with("--")) {
            if (word(at) == "--check-hash-based-pycs") ++at;
            continue;
        }
        const Behind what = behind(word(at).substr(1));
        if (what == Behind::command) return {};
        if (what == Behind::module) return word(at + 1);
        if (what == Behind::value) ++at;
    }
    return {};
}

std::string_view script_name(std::string_view executable) { return script_in(executable, remembered); }

}  // namespace gpushim::shim
