// A JSON value that is built and then written: objects keep the order of their keys, numbers that are none are null.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gpushim::analysis {

class Json {
  public:
    using Object = std::vector<std::pair<std::string, Json>>;
    using Array = std::vector<Json>;

    Json() : value_(nullptr) {}
    Json(std::nullptr_t) : value_(nullptr) {}
    Json(bool value) : value_(value) {}
    Json(int value) : value_(static_cast<int64_t>(value)) {}
    Json(int64_t value) : value_(value) {}
    Json(size_t value) : value_(static_cast<int64_t>(value)) {}
    Json(double value) : value_(value) {}
    Json(const char* value) : value_(std::string(value)) {}
    Json(std::string value) : value_(std::move(value)) {}
    template <class T>
    Json(const std::optional<T>& value) : Json() {
        if (value) *this = Json(*value);
    }
    static Json object(std::initializer_list<std::pair<std::string, Json>> members = {}) {
        Json made;
        made.value_ = Object(members);
        return made;
    }
    static Json array() {
        Json made;
        made.value_ = Array();
        return made;
    }

    void set(std::string key, Json value) {
        std::get<Object>(value_).emplace_back(std::move(key), std::move(value));
    }
    void push(Json value) { std::get<Array>(value_).push_back(std::move(value)); }
    std::string text(int indent = 0) const;

  private:
    std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace gpushim::analysis
