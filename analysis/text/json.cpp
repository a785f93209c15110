#include "json.h"

#include <cstdio>

#include "escape.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kOneLine = 100;  // columns; what is longer is broken into lines

std::string number_text(double value) {
    if (!std::isfinite(value)) return "null";
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", value);
    return text;
}

// Members on one line where they fit, else one line each.
std::string bracketed(const std::vector<std::string>& parts, char open, char close, int indent) {
    std::string line;
    bool fits = true;
    for (const std::string& part : parts) {
        line += (line.empty() ? "" : ", ") + part;
        fits = fits && part.find('\n') == std::string::npos;
    }
    if (fits && line.size() + static_cast<size_t>(indent) <= kOneLine) return open + line + close;
    const std::string margin(static_cast<size_t>(indent) + 2, ' ');
    std::string text(1, open);
    for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "\n" : ",\n") + margin + parts[i];
    return text + "\n" + margin.substr(2) + close;
}

}  // namespace

std::string Json::text(int indent) const {
    if (const auto* truth = std::get_if<bool>(&value_)) return *truth ? "true" : "false";
    if (const auto* number = std::get_if<int64_t>(&value_)) return std::to_string(*number);
    if (const auto* real = std::get_if<double>(&value_)) return number_text(*real);
    if (const auto* words = std::get_if<std::string>(&value_)) return for_json(*words);
    std::vector<std::string> parts;
    if (const auto* array = std::get_if<Array>(&value_)) {
        for (const Json& item : *array) parts.push_back(item.text(indent + 2));
        return bracketed(parts, '[', ']', indent);
    }
    if (const auto* object = std::get_if<Object>(&value_)) {
        for (const auto& [key, value] : *object) parts.push_back(for_json(key) + ": " + value.text(indent + 2));
        return bracketed(parts, '{', '}', indent);
    }
    return "null";
}

}  // namespace gpushim::analysis
