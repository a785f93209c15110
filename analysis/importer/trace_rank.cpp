#include "trace_rank.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "decimal.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kMostRanks = 10'000'000;
constexpr std::string_view kSeparators = "-_=.[ ", kDigits = "0123456789";

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

std::optional<int64_t> number_at(std::string_view text) {
    const auto number = integer(text.substr(0, std::min(text.find_first_not_of(kDigits), text.size())));
    return number && *number < kMostRanks ? number : std::nullopt;
}

// The number behind a word that stands alone: "rank-3", "rank3", not "frank3" and not "ranks-3".
std::optional<int64_t> number_behind(std::string_view name, std::string_view word) {
    for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
        if (at > 0 && is_letter(name[at - 1])) continue;
        std::string_view rest = name.substr(at + word.size());
        if (!rest.empty() && kSeparators.find(rest[0]) != std::string_view::npos) rest.remove_prefix(1);
        if (const auto number = number_at(rest)) return number;
    }
    return {};
}

// "trace_3.json", "3.json"; but "host_4711.1690000000000.pt.trace.json" has a process and a time.
std::optional<int64_t> last_number(std::string_view name) {
    if (name.starts_with("libkineto_activities")) return {};
    const std::string_view stem = name.substr(0, name.find('.'));
    const std::string_view behind = name.substr(stem.size());
    if (behind.size() > 1 && kDigits.find(behind[1]) != std::string_view::npos) return {};
    const size_t last = stem.find_last_not_of(kDigits);
    if (last == std::string_view::npos) return number_at(stem);
    return is_letter(stem[last]) ? std::nullopt : number_at(stem.substr(last + 1));
}

std::string in_small_letters(std::string_view path) {
    std::string name(path.substr(path.rfind('/') + 1));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}

}  // namespace

std::optional<int64_t> rank_of_file_name(std::string_view path, bool numbers_count) {
    const std::string name = in_small_letters(path);
    for (const std::string_view word : {"rank", "worker"})
        if (const auto number = number_behind(name, word)) return number;
    return numbers_count ? last_number(name) : std::nullopt;
}

bool are_numbered(std::span<const std::string> paths) {
    constexpr std::string_view kGzip = ".gz";  // of one run some may be packed and others not
    std::set<int64_t> numbers;
    std::set<std::string> rests;
    for (const std::string& path : paths) {
        const std::string name = in_small_letters(path);
        const auto number = last_number(name);
        if (!number) continue;
        const std::string stem = name.substr(0, name.find('.'));
        const size_t end = name.ends_with(kGzip) ? name.size() - kGzip.size() : name.size();
        rests.insert(name.substr(0, stem.find_last_not_of(kDigits) + 1) +
                     name.substr(stem.size(), end - stem.size()));
        if (!numbers.insert(*number).second) return false;
    }
    return numbers.size() > 1 && rests.size() == 1;
}

}  // namespace gpushim::analysis
