// What differs about where two runs ran, and whether that forbids to compare them.
#include <algorithm>
#include <array>
#include <utility>

#include "comparison.h"

namespace gpushim::analysis {

namespace {

// A step on another GPU, or on more of them, is another step.
constexpr std::array<std::string_view, 2> kForbids = {"GPU", "GPUs"};

using Key = std::pair<std::string, std::string>;

std::optional<std::string> find(const Side& side, const Key& key) {
    for (const Surrounding& one : side.around)
        if (one.kind == key.first && one.name == key.second) return one.value;
    return {};
}

// What the new one has, then what only the old one had.
std::vector<Key> keys_of(const Side& base, const Side& now) {
    std::vector<Key> keys;
    for (const Side* side : {&now, &base})
        for (const Surrounding& one : side->around)
            if (const Key key{one.kind, one.name}; std::find(keys.begin(), keys.end(), key) == keys.end())
                keys.push_back(key);
    return keys;
}

// What is missing of a run: expected, there.
std::vector<std::pair<std::string, std::string>> missing_of(const Side& side) {
    std::vector<std::pair<std::string, std::string>> missing;
    if (side.ranks_expected && *side.ranks_expected > side.ranks_seen)
        missing.emplace_back(std::to_string(*side.ranks_expected) + " ranks",
                             std::to_string(side.ranks_seen) + " seen");
    if (!side.is_whole) missing.emplace_back("all files", "some could not be read");
    return missing;
}

void add_missing(const Side& side, const char* which, std::vector<Change>& changes) {
    for (const auto& [expected, there] : missing_of(side)) changes.push_back({which, expected, there, true});
}

}  // namespace

std::string Change::words() const {
    const auto shown = [](const std::string& text) { return text.empty() ? "not recorded" : text; };
    if (forbids && (what == "BASE" || what == "NEW")) return what + ": " + before + " expected, " + after;
    return what + " " + shown(after) + " (was " + shown(before) + ")";
}

std::vector<Change> changes_of(const Side& base, const Side& now) {
    std::vector<Change> changes;
    for (const Key& key : keys_of(base, now)) {
        const auto before = find(base, key), after = find(now, key);
        if (before == after) continue;
        const bool forbids = std::find(kForbids.begin(), kForbids.end(), key.first) != kForbids.end();
        const bool is_named = !key.second.empty();
        changes.push_back({key.first + (is_named ? " " + key.second : ""),
                           before.value_or(is_named ? "unset" : ""), after.value_or(is_named ? "unset" : ""),
                           forbids && before && after});
    }
    add_missing(base, "BASE", changes);
    add_missing(now, "NEW", changes);
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.forbids > b.forbids; });
    return changes;
}

std::optional<std::string> unusable(const Side& side) {
    for (const auto& [expected, there] : missing_of(side)) return expected + " expected, " + there;
    if (!side.has_steps()) return "no steps: " + side.why_no_steps;
    return {};
}

std::optional<std::string> too_few_steps(const Side& side) {
    const size_t count = side.typical().lengths_ns.size(), least = kFewestBlocks * kShortestBlock;
    if (count >= least) return {};
    return std::to_string(count) + " steps that count, at least " + std::to_string(least) + " are needed";
}

}  // namespace gpushim::analysis
