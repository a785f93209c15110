#include "event_text.h"

#include <cstdio>

#include "../text/escape.h"
#include "export_row.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostQuotedBytes = 4 << 20;

// JSON in a page's script ends where that text says so, whatever it is quoted in.
std::string inert(const std::string& json) {
    std::string text;
    for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
    return text;
}

}  // namespace

std::string microseconds(int64_t ns) {
    const uint64_t size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    char text[32];
    std::snprintf(text, sizeof text, "%s%llu.%03llu", ns < 0 ? "-" : "",
                  static_cast<unsigned long long>(size / 1000), static_cast<unsigned long long>(size % 1000));
    return text;
}

const std::string& EventText::quoted(std::string_view text) {
    if (quoted_bytes_ > kMostQuotedBytes) {
        quoted_.clear();
        quoted_bytes_ = 0;
    }
    auto [found, is_new] = quoted_.try_emplace(std::string(text));
    if (is_new) {
        found->second = inert(for_json(text));
        quoted_bytes_ += text.size() + found->second.size();
    }
    return found->second;
}

EventText& EventText::begin(char phase, std::string_view category, std::string_view name) {
    line_ = "{\"ph\": \"";
    line_ += phase;
    line_ += '"';
    if (!category.empty()) member("cat", category);
    line_ += ", \"name\": " + quoted(name);
    has_args_ = false;
    return *this;
}

EventText& EventText::member(std::string_view name, int64_t value) {
    line_.append(", \"").append(name).append("\": ").append(std::to_string(value));
    return *this;
}

EventText& EventText::member(std::string_view name, std::string_view value) {
    line_.append(", \"").append(name).append("\": \"").append(value).append("\"");
    return *this;
}

EventText& EventText::at(int64_t pid, int64_t tid, int64_t ns) {
    member("pid", pid).member("tid", tid);
    line_ += ", \"ts\": " + microseconds(ns);
    return *this;
}

EventText& EventText::lasts(int64_t ns) {
    line_ += ", \"dur\": " + microseconds(ns);
    return *this;
}

void EventText::key(std::string_view name) {
    line_.append(has_args_ ? ", \"" : ", \"args\": {\"").append(name).append("\": ");
    has_args_ = true;
}

EventText& EventText::arg(std::string_view name, int64_t value) {
    if (value == ExportRow::kNone) return *this;
    key(name);
    line_ += std::to_string(value);
    return *this;
}

EventText& EventText::arg(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    key(name);
    line_ += quoted(value);
    return *this;
}

EventText& EventText::arg(std::string_view name, const std::array<int64_t, 3>& values) {
    for (const int64_t value : values)
        if (value == ExportRow::kNone) return *this;
    key(name);
    line_ += "[" + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " +
             std::to_string(values[2]) + "]";
    return *this;
}

EventText& EventText::decimal(std::string_view name, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", value);
    key(name);
    line_ += text;
    return *this;
}

std::string_view EventText::end() {
    line_ += has_args_ ? "}}" : "}";
    return line_;
}

}  // namespace gpushim::analysis
