#include "code_words.h"

#include <string>

namespace gpushim::analysis {

namespace {

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

// A path may begin with the folder itself.
bool has_folder(std::string_view file, std::string_view folder) {
    return file.find(folder) != std::string_view::npos ||
           (folder.starts_with('/') && file.starts_with(folder.substr(1)));
}

}  // namespace

bool fits(const CodeWord& word, std::string_view file, std::string_view function) {
    const bool has_class = word.function.find('.') != std::string_view::npos;
    return has_folder(file, word.folder) && is_like(behind_last('/', file), word.file) &&
           is_like(has_class ? function : behind_last('.', function), word.function);
}

}  // namespace gpushim::analysis
