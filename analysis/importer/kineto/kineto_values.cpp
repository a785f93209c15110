#include "kineto_values.h"

#include "../decimal.h"

namespace gpushim::analysis {

template <class Field, class Value>
void ValueReader::take(Field& field, const Value& value) {
    if (value)
        field = *value;
    else
        ++ignored_;
}

std::string_view ValueReader::plain() {
    std::string_view value;
    const char first = json_.peek();
    if (first == '"')
        json_.text(value);
    else if (first == '{' || first == '[')
        json_.skip();
    else
        json_.word(value);
    return value;
}

void ValueReader::read(std::optional<int64_t>& field) { take(field, integer(plain())); }

void ValueReader::read(std::optional<double>& field) { take(field, real(plain())); }

void ValueReader::read(std::optional<bool>& field) {
    const std::string_view value = plain();
    const bool yes = value == "true" || value == "1", no = value == "false" || value == "0";
    take(field, yes || no ? std::optional(yes) : std::nullopt);
}

void ValueReader::read(std::optional<std::array<int64_t, 3>>& field) {
    if (json_.peek() != '[') {
        json_.skip();
        ++ignored_;
        return;
    }
    std::array<int64_t, 3> sizes{};
    size_t count = 0, good = 0;
    for (json_.enter('['); json_.next_item(); ++count) {
        const auto size = integer(plain());
        if (size && count < sizes.size()) sizes[count] = *size, ++good;
    }
    const bool three = count == sizes.size() && good == count;
    take(field, three ? std::optional(sizes) : std::nullopt);
}

void ValueReader::read(std::string_view& field) {
    const char first = json_.peek();
    if (first == '"') {
        json_.text(field);
    } else if (first == '[') {
        json_.skip(field);
    } else {
        json_.skip();
        ++ignored_;
    }
}

void ValueReader::read(std::string& field) {
    std::string_view value;
    read(value);
    field = value;
}

}  // namespace gpushim::analysis
