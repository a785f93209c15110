#include "script_name.h"

#include <fcntl.h>
#include <unistd.h>

namespace gpushim::shim {

namespace {

bool is_python(std::string_view executable) {
    return executable.starts_with("python") || executable.starts_with("pypy");
}

struct Arguments {
    std::string_view rest;

    // Null at the end; the last one may be cut off, which then is no name.
    std::string_view next() {
        const size_t end = rest.find('\0');
        if (end == std::string_view::npos) return {};
        const std::string_view one = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        return one;
    }
};

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

std::string_view script_in(std::string_view executable, std::string_view arguments) {
    if (!is_python(executable)) return {};
    Arguments words = {arguments};
    words.next();  // the interpreter
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        if (word == "--check-hash-based-pycs") {
            words.next();
            continue;
        }
        if (word == "-") return {};
        if (!word.starts_with('-')) return without_folder(word);
        if (word.starts_with("--")) continue;
        const Behind what = behind(word.substr(1));
        if (what == Behind::command) return {};
        if (what == Behind::module) return words.next();
        if (what == Behind::value) words.next();
    }
    return {};
}

std::string_view script_name(std::string_view executable, char (&to)[4096]) {
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    const ssize_t length = read(file, to, sizeof to);
    close(file);
    return length > 0 ? script_in(executable, {to, static_cast<size_t>(length)}) : std::string_view();
}

}  // namespace gpushim::shim
