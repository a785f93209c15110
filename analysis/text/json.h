// A JSON value that is built and then written: objects keep the order of their keys, numbers that are none
// are null.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpushim::analysis {

class Json {
  public:
    Json();
    Json(std::nullptr_t) : Json() {}
    // Not inline: a value holds values, and every file that names one would compile this for itself.
    ~Json();
    Json(const Json&);
    Json(Json&&) noexcept;
    Json& operator=(const Json&);
    Json& operator=(Json&&) noexcept;
    Json(bool value);
    Json(int value);
    Json(int64_t value);
    Json(size_t value);
    Json(double value);
    Json(const char* value);
    Json(std::string value);
    Json(const std::optional<int64_t>& value);  // none: null
    Json(const std::optional<double>& value);
    static Json object(std::initializer_list<std::pair<const char*, Json>> members = {});
    static Json array();

    void set(std::string key, Json value);
    void push(Json value);
    std::string text(int indent = 0) const;

    // What was built, read again. Of what is not an object, or has no such key: null.
    const Json& operator[](std::string_view key) const;
    const std::vector<Json>& items() const { return items_; }  // of an array
    const std::vector<std::string>& keys() const { return keys_; }
    std::optional<double> amount() const;  // of a number
    std::string words() const;             // of a text; else empty
    bool is_null() const { return kind_ == Kind::null; }
    bool is_true() const { return kind_ == Kind::truth && number_ != 0; }

  private:
    enum class Kind { null, truth, number, real, text, array, object };
    std::vector<std::string> parts(int indent) const;

    Kind kind_ = Kind::null;
    int64_t number_ = 0;
    double real_ = 0;
    std::string text_;
    std::vector<std::string> keys_;
    std::vector<Json> items_;
};

}  // namespace gpushim::analysis
