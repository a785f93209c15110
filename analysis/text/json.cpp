#include "json.h"

#include <cmath>
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

Json::Json() = default;
Json::~Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;

Json::Json(bool value) : kind_(Kind::truth), number_(value) {}
Json::Json(int value) : kind_(Kind::number), number_(value) {}
Json::Json(int64_t value) : kind_(Kind::number), number_(value) {}
Json::Json(size_t value) : kind_(Kind::number), number_(static_cast<int64_t>(value)) {}
Json::Json(double value) : kind_(Kind::real), real_(value) {}
Json::Json(const char* value) : kind_(Kind::text), text_(value) {}
Json::Json(std::string value) : kind_(Kind::text), text_(std::move(value)) {}
Json::Json(const std::optional<int64_t>& value)
    : kind_(value ? Kind::number : Kind::null), number_(value.value_or(0)) {}
Json::Json(const std::optional<double>& value)
    : kind_(value ? Kind::real : Kind::null), real_(value.value_or(0)) {}

Json Json::object(std::initializer_list<std::pair<const char*, Json>> members) {
    Json made;
    made.kind_ = Kind::object;
    for (const auto& [key, value] : members) made.set(key, value);
    return made;
}

Json Json::array() {
    Json made;
    made.kind_ = Kind::array;
    return made;
}

void Json::set(std::string key, Json value) {
    keys_.push_back(std::move(key));
    items_.push_back(std::move(value));
}

void Json::push(Json value) { items_.push_back(std::move(value)); }

const Json& Json::operator[](std::string_view key) const {
    static const Json kNothing;
    for (size_t i = 0; i < keys_.size(); ++i)
        if (keys_[i] == key) return items_[i];
    return kNothing;
}

std::optional<double> Json::amount() const {
    if (kind_ == Kind::number) return static_cast<double>(number_);
    return kind_ == Kind::real && std::isfinite(real_) ? std::optional(real_) : std::nullopt;
}

std::string Json::words() const { return kind_ == Kind::text ? text_ : ""; }

std::vector<std::string> Json::parts(int indent) const {
    std::vector<std::string> texts;
    for (size_t i = 0; i < items_.size(); ++i)
        texts.push_back((i < keys_.size() ? for_json(keys_[i]) + ": " : "") + items_[i].text(indent + 2));
    return texts;
}

std::string Json::text(int indent) const {
    switch (kind_) {
        case Kind::null:
            return "null";
        case Kind::truth:
            return number_ != 0 ? "true" : "false";
        case Kind::number:
            return std::to_string(number_);
        case Kind::real:
            return number_text(real_);
        case Kind::text:
            return for_json(text_);
        case Kind::array:
            return bracketed(parts(indent), '[', ']', indent);
        case Kind::object:
            return bracketed(parts(indent), '{', '}', indent);
    }
    return "null";
}

}  // namespace gpushim::analysis
