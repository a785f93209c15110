#include "style.h"

#include <algorithm>
#include <array>

namespace gpushim::analysis {

namespace {

// By Style.
constexpr std::array<std::string_view, 5> kEscapes = {"", "\033[1m", "\033[1;36m", "\033[33m", "\033[1;31m"};
constexpr std::string_view kBack = "\033[0m";

// What a line says with its first word. Any other word in capitals there is a heading.
struct Word {
    std::string_view word;
    Style style;
};
constexpr Word kFirstWords[] = {
    {"note", Style::warning},         {"NOTE", Style::warning},      {"LIMITED", Style::warning},
    {"INCONCLUSIVE", Style::warning}, {"REGRESSED", Style::trouble}, {"SLOWER", Style::trouble},
    {"MISSING", Style::trouble},      {"BLIND", Style::trouble},     {"EVIDENCE", Style::warning},
};
// What is told wherever it stands.
constexpr std::string_view kNoGpu = "SIMULATED: these are not GPU times";

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view word_at(std::string_view text, size_t at) {
    return text.substr(at, std::min(text.find(' ', at), text.size()) - at);
}

// "WHAT TO DO" of "WHAT TO DO (gain per step)".
size_t end_of_heading(std::string_view line) {
    size_t end = 0;
    for (size_t at = 0; at < line.size();) {
        const std::string_view word = word_at(line, at);
        if (word.size() < 2 || !std::all_of(word.begin(), word.end(), is_capital)) break;
        end = at + word.size();
        at = end + 1;
    }
    return end;
}

// " 1 Many small kernels" of " 1 Many small kernels: 4–8 % of a step".
size_t end_of_finding(std::string_view line) {
    const size_t number = line.starts_with(' ') ? 1 : 0;
    if (line.size() < 4 || !is_digit(line[number]) || line[2] != ' ' || !is_capital(line[3])) return 0;
    const size_t end = line.find(':');
    return end == std::string_view::npos ? 0 : end;
}

std::string with_no_gpu(std::string_view text) {
    const size_t at = text.find(kNoGpu);
    if (at == std::string_view::npos) return std::string(text);
    return std::string(text.substr(0, at)) + styled(Style::warning, kNoGpu) +
           std::string(text.substr(at + kNoGpu.size()));
}

}  // namespace

std::string styled(Style style, std::string_view text) {
    if (style == Style::plain || text.empty()) return std::string(text);
    return std::string(kEscapes[static_cast<size_t>(style)]) + std::string(text) + std::string(kBack);
}

std::string styled_line(std::string_view line) {
    const std::string_view first = word_at(line, 0);
    for (const Word& one : kFirstWords)
        if (one.word == first) return styled(one.style, first) + with_no_gpu(line.substr(first.size()));
    if (const size_t end = end_of_heading(line); end > 0)
        return styled(Style::heading, line.substr(0, end)) + std::string(line.substr(end));
    if (const size_t end = end_of_finding(line); end > 0)
        return styled(Style::finding, line.substr(0, end)) + std::string(line.substr(end));
    return with_no_gpu(line);
}

}  // namespace gpushim::analysis
