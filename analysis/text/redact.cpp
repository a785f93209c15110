#include "redact.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <vector>

namespace gpushim::analysis {

namespace {

namespace fs = std::filesystem;

std::vector<std::string>& hidden() {
    static std::vector<std::string> names;
    return names;
}

void hide(const std::string& name) {
    if (name.size() > 2) hidden().push_back(name);  // not the dots of "." and ".."
}

}  // namespace

std::string hashed(std::string_view kind, std::string_view text) {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    char digits[24];
    std::snprintf(digits, sizeof digits, "-%012llx", static_cast<unsigned long long>(hash >> 16));
    return std::string(kind) + digits;
}

void hide_names_of(std::span<const std::string> files_or_folders) {
    for (const std::string& word : files_or_folders) {
        std::error_code none;  // what is not there has a name all the same
        const fs::path path = fs::absolute(word, none).lexically_normal();
        for (const fs::path& name : {fs::path(word), path, path.parent_path(), path.filename()})
            hide(name.string());
        for (const auto& entry : fs::directory_iterator(path, none)) {
            hide((fs::path(word) / entry.path().filename()).string());
            hide(entry.path().string());
            hide(entry.path().filename().string());
        }
    }
    // The longest first: others are parts of it.
    std::stable_sort(hidden().begin(), hidden().end(),
                     [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string without_hidden_names(std::string text) {
    for (const std::string& name : hidden()) {
        const std::string instead = hashed("file", name);
        for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += instead.size())
            text.replace(at, name.size(), instead);
    }
    return text;
}

}  // namespace gpushim::analysis
