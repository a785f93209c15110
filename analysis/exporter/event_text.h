// One of Chrome's events as a line of JSON, member by member: first what it is, where and when, then its
// arguments. Times are exact: ns as decimal microseconds. Texts are strangers': whatever is in them, the line
// is valid JSON, and harmless in a page, too. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gpushim::analysis {

std::string microseconds(int64_t ns);  // "12.345"

class EventText {
  public:
    EventText& begin(char phase, std::string_view category, std::string_view name);
    EventText& at(int64_t pid, int64_t tid, int64_t ns);
    EventText& lasts(int64_t ns);
    EventText& member(std::string_view key, int64_t value);
    EventText& member(std::string_view key, std::string_view value);
    // Nothing where it is not recorded: ExportRow::kNone, an empty text.
    EventText& arg(std::string_view key, int64_t value);
    EventText& arg(std::string_view key, std::string_view value);
    EventText& arg(std::string_view key, const std::array<int64_t, 3>& values);
    EventText& decimal(std::string_view key, double value);
    std::string_view end();  // valid until the next begin

    const std::string& quoted(std::string_view text);

  private:
    void key(std::string_view key);

    std::string line_;
    bool has_args_ = false;
    // Names come again and again. Emptied when it has grown large.
    std::unordered_map<std::string, std::string> quoted_;
    size_t quoted_bytes_ = 0;
};

}  // namespace gpushim::analysis
