#include "unknown_settings.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "config.h"
#include "log.h"

extern "C" char** environ;

namespace gpushim::shim {
namespace {

constexpr std::string_view kPrefix = "GPUSHIM_";
constexpr size_t kLongest = 40;  // longer ones are near to none
constexpr size_t kMostEdits = 2;

bool same_letter(char a, char b) {
    const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
    return upper(a) == upper(b);
}

// Letters put in, left out, replaced, or swapped with their neighbour; both texts are short.
size_t edits_between(std::string_view a, std::string_view b) {
    size_t rows[3][kLongest + 1];  // by how much of `a` was read: two rows back, one row back, now
    size_t *older = rows[0], *old = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b.size(); ++j) old[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + !same_letter(a[i - 1], b[j - 1])});
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                now[j] = std::min(now[j], older[j - 2] + 1);
        }
        size_t* const free = older;
        older = old;
        old = now;
        now = free;
    }
    return old[b.size()];
}

std::string_view own_part(std::string_view name) { return name.substr(kPrefix.size()); }

// OUTPUT for OUT, RANK for RANKS: one is the beginning of the other.
bool one_begins_the_other(std::string_view a, std::string_view b) {
    const size_t shorter = std::min(a.size(), b.size());
    return shorter >= 3 && edits_between(a.substr(0, shorter), b.substr(0, shorter)) == 0;
}

bool is_known(std::string_view name) {
    const auto all = settings();
    return std::any_of(all.begin(), all.end(), [&](const SettingRow& row) { return row.name == name; });
}

}  // namespace

const char* nearest_setting(const char* name, size_t length) {
    if (length <= kPrefix.size() || length > kLongest) return nullptr;
    const std::string_view part = own_part({name, length});
    const char* nearest = nullptr;
    size_t fewest = kMostEdits + 1;
    for (const SettingRow& row : settings()) {
        if (*row.wanted == '\0') continue;  // nobody sets it by hand
        const std::string_view candidate = own_part(row.name);
        size_t edits = edits_between(part, candidate);
        if (2 * edits > candidate.size() || edits > kMostEdits)
            edits = one_begins_the_other(part, candidate) ? kMostEdits : kMostEdits + 1;
        if (edits >= fewest) continue;
        fewest = edits;
        nearest = row.name;
    }
    return nearest;
}

void each_unknown_setting(void (*say)(void* with, const char* name, const char* said), void* with) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const size_t length = std::min(text.find('='), text.size());
        if (!text.starts_with(kPrefix) || is_known(text.substr(0, length))) continue;
        char name[kLongest + 1], said[128];
        const size_t shown = std::min(length, kLongest);
        memcpy(name, *entry, shown);
        name[shown] = '\0';
        const char* nearest = nearest_setting(*entry, length);
        snprintf(said, sizeof said, " is not a variable of gpushim%s%s%s", nearest ? "; did you mean " : "",
                 nearest ? nearest : "", nearest ? "?" : "");
        say(with, name, said);
    }
}

void warn_of_unknown_settings() {
    static constinit std::atomic<bool> warned = false;
    if (warned.exchange(true)) return;
    each_unknown_setting(
        [](void*, const char* name, const char* said) { log_line(LogLevel::warn, "%s%s", name, said); },
        nullptr);
}

}  // namespace gpushim::shim
