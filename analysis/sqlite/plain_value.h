// A value of one of many rows: it owns nothing, for what is copied and freed for each takes longer than
// SQLite does to write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace gpushim::analysis {

struct BlobView {
    std::string_view bytes;
};
using PlainValue = std::variant<std::nullptr_t, int64_t, double, std::string_view, BlobView>;

}  // namespace gpushim::analysis
