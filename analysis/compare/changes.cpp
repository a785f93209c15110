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

void add_ranks(const Side& side, const char* which, std::vector<Change>& changes) {
    if (side.ranks_expected && *side.ranks_expected > side.ranks_seen)
        changes.push_back({"ranks of " + std::string(which), std::to_string(*side.ranks_expected) + " expected",
                           std::to_string(side.ranks_seen) + " seen", true});
    if (!side.is_whole)
        changes.push_back({"files of " + std::string(which), "all", "some could not be read", true});
}

}  // namespace

std::string Change::words() const {
    const auto shown = [](const std::string& text) { return text.empty() ? "not recorded" : text; };
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
    add_ranks(base, "BASE", changes);
    add_ranks(now, "NEW", changes);
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.forbids > b.forbids; });
    return changes;
}

}  // namespace gpushim::analysis
