// Values of known members, taken from a scanner into fields. A value of another type than its field leaves
// the field as it is and counts as ignored; one in quotes is as good as one without. A member that comes
// twice: the last one counts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json_scanner.h"

namespace gpushim::analysis {

class ValueReader {
  public:
    explicit ValueReader(JsonScanner& json) : json_(json) {}

    void read(std::optional<int64_t>& field);
    void read(std::optional<double>& field);
    void read(std::optional<bool>& field);  // true, false, 1 and 0
    void read(std::optional<std::array<int64_t, 3>>& field);
    void read(std::string_view& field);  // a text, or a list as it stands
    void read(std::string& field);
    std::string_view plain();  // a text, a number or a word; empty: none of them

    uint64_t ignored() const { return ignored_; }

  private:
    template <class Field, class Value>
    void take(Field& field, const Value& value);

    JsonScanner& json_;
    uint64_t ignored_ = 0;
};

}  // namespace gpushim::analysis
