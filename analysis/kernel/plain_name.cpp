#include "plain_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace gpushim::analysis {

namespace {

constexpr size_t kLongestMangled = 16384;  // the demangler's time grows faster than the name

}  // namespace

std::string demangled(std::string_view name) {
    if (!name.starts_with("_Z") || name.size() > kLongestMangled) return std::string(name);
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(
        abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
    return plain ? plain.get() : std::string(name);  // cut off names do not demangle; their words still match
}

size_t closing(std::string_view text, size_t at) {
    std::string open;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        const bool in_template = open.empty() || open.back() == '>';
        if (c == '(' || c == '{' || c == '[') open += c == '(' ? ')' : c == '{' ? '}' : ']';
        if (c == '<' && in_template) open += '>';
        if (!open.empty() && c == open.back()) open.pop_back();
        if (open.empty()) return at;
    }
    return text.size();
}

std::string_view own_name(std::string_view name) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    size_t begin = 0;
    for (size_t i = 0; i < name.size(); ++i) {
        if (name.substr(i).starts_with(kAnonymous)) {
            i += kAnonymous.size() - 1;
        } else if (name[i] == '(' && i > begin) {
            return name.substr(begin, i - begin);
        } else if (name[i] == ' ') {
            begin = i + 1;
        } else if (name[i] == '<' || name[i] == '(') {
            i = closing(name, i);
            if (i == name.size()) return name;
        }
    }
    return name.substr(begin);
}

}  // namespace gpushim::analysis
