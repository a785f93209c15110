#include "api_kinds.h"

#include <string>
#include <unordered_map>
#include <utility>

namespace gpushim::analysis {

namespace {

struct Row {
    std::string_view name;
    ApiKind facts;
};

constexpr Row kRows[] = {
#define API(kind, name) {name, {#kind}},
#define SPECIAL(kind, trait, name) {name, {#kind, ApiTrait::trait}},
#include "api_kinds.def"
#undef API
#undef SPECIAL
};

bool is_version(std::string_view suffix) {
    return suffix.size() > 1 && suffix[0] == 'v' &&
           suffix.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

std::string_view base_of_api(std::string_view name) {
    for (;;) {
        const size_t bar = name.rfind('_');
        if (bar == std::string_view::npos || bar == 0) return name;
        const std::string_view suffix = name.substr(bar + 1);
        if (suffix != "ptsz" && suffix != "ptds" && !is_version(suffix)) return name;
        name = name.substr(0, bar);
    }
}

std::string_view name_of_api(std::string_view name) {
    const size_t bar = name.rfind('_');
    if (bar == std::string_view::npos || bar == 0) return name;
    const std::string_view suffix = name.substr(bar + 1);
    const bool is_of_cupti = is_version(suffix) && suffix.size() >= sizeof("v3020") - 1;
    return is_of_cupti ? name.substr(0, bar) : name;
}

ApiKind kind_of_api(std::string_view name) {
    static const auto rows = [] {
        std::unordered_map<std::string_view, ApiKind> made;
        for (const Row& row : kRows) made.emplace(row.name, row.facts);
        return made;
    }();
    const std::string_view base = base_of_api(name);
    auto found = rows.find(base);
    // AMD's runtime has the same calls.
    if (found == rows.end() && base.starts_with("hip"))
        found = rows.find("cuda" + std::string(base.substr(3)));
    return found == rows.end() ? ApiKind{"other"} : found->second;
}

unsigned char direction_of_api(std::string_view name) {
    constexpr std::pair<std::string_view, unsigned char> kWords[] = {
        {"MemcpyHtoD", 1}, {"MemcpyDtoH", 2}, {"MemcpyDtoD", 3}, {"MemcpyPeer", 4}};
    for (const auto& [word, direction] : kWords)
        if (name.find(word) != std::string_view::npos) return direction;
    return 0;
}

}  // namespace gpushim::analysis
