#include "imported_names.h"

namespace gpushim::analysis {

namespace {

constexpr int32_t kMostTexts = 65536;
constexpr size_t kMostBytes = 32 << 20, kLongest = 16384;
constexpr std::string_view kOther = "(other)";

}  // namespace

int32_t ImportedTexts::id(std::string_view text) {
    text = text.substr(0, kLongest);
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    if (count() < kMostTexts && bytes_ + text.size() <= kMostBytes) return add(text);
    ++left_out_;
    const auto other = ids_.find(kOther);
    return other != ids_.end() ? other->second : add(kOther);
}

int32_t ImportedTexts::add(std::string_view text) {
    const auto made = ids_.emplace(std::string(text), count()).first;
    texts_.push_back(&made->first);
    bytes_ += text.size();
    return made->second;
}

}  // namespace gpushim::analysis
