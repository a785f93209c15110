#include "threads.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return std::move(text).str();
}

std::string line_in(const fs::path& file) {
    const std::string text = text_of(file);
    return text.substr(0, text.find('\n'));
}

// Those of a folder of /proc whose names are numbers.
std::vector<int64_t> numbers_in(const fs::path& folder) {
    std::vector<int64_t> numbers;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        if (const int64_t number = std::atoll(entry->path().filename().c_str()); number > 0)
            numbers.push_back(number);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

// The fields behind "pid (name)"; the name may hold anything.
std::istringstream fields_of(const fs::path& stat) {
    const std::string line = text_of(stat);
    const size_t end_of_name = line.rfind(')');
    return std::istringstream(end_of_name == std::string::npos ? "" : line.substr(end_of_name + 1));
}

std::string state_text(char state) {
    switch (state) {
        case 'R':
            return "running";
        case 'D':
            return "waits for a disk";
        case 'T':
        case 't':
            return "stopped";
        case 'Z':
        case 'X':
            return "has ended";
        default:
            return "waits";
    }
}

fs::path folder_of(int64_t pid) { return fs::path("/proc") / std::to_string(pid); }

}  // namespace

std::vector<ThreadNow> threads_of(int64_t pid) {
    std::vector<ThreadNow> threads;
    for (const int64_t tid : numbers_in(folder_of(pid) / "task")) {
        const fs::path folder = folder_of(pid) / "task" / std::to_string(tid);
        char state = '?';
        if (!(fields_of(folder / "stat") >> state)) continue;
        const std::string blocked_in = line_in(folder / "wchan");
        threads.push_back({tid, line_in(folder / "comm"), state_text(state),
                           state == 'R' || blocked_in == "0" ? "" : blocked_in});
    }
    return threads;
}

std::vector<int64_t> family_of(int64_t pid) {
    std::multimap<int64_t, int64_t> children;
    for (const int64_t one : numbers_in("/proc")) {
        char state = '?';
        int64_t parent = 0;
        if (fields_of(folder_of(one) / "stat") >> state >> parent) children.emplace(parent, one);
    }
    std::vector<int64_t> family = {pid};
    for (size_t i = 0; i < family.size(); ++i) {
        const auto [first, last] = children.equal_range(family[i]);
        for (auto child = first; child != last; ++child) family.push_back(child->second);
    }
    return family;
}

bool has_mapped(int64_t pid, const std::string& file_name) {
    return text_of(folder_of(pid) / "maps").find("/" + file_name) != std::string::npos;
}

std::string command_of(int64_t pid) {
    std::string words = text_of(folder_of(pid) / "cmdline");
    while (!words.empty() && words.back() == '\0') words.pop_back();
    std::replace(words.begin(), words.end(), '\0', ' ');
    return words;
}

}  // namespace gpushim::analysis
