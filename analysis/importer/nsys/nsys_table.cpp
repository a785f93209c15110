#include "nsys_table.h"

#include <set>

namespace gpushim::analysis {

namespace {

std::string one_of(std::string_view names, const std::set<std::string, std::less<>>& there) {
    while (!names.empty()) {
        const size_t bar = std::min(names.find('|'), names.size());
        const std::string name(names.substr(0, bar));
        if (there.contains(name)) return "t.\"" + name + "\"";
        names.remove_prefix(std::min(bar + 1, names.size()));
    }
    return "NULL";
}

}  // namespace

NsysTable::NsysTable(const Database& base, std::string_view table,
                     std::initializer_list<std::string_view> columns) {
    if (!base.has(table)) return;
    const auto there = base.columns_of(table);
    const bool has_texts = base.has("StringIds");
    std::string wanted;
    for (const std::string_view column : columns) {
        const bool is_text = column.starts_with('#');
        const std::string found = one_of(is_text ? column.substr(1) : column, there);
        wanted += wanted.empty() ? "" : ", ";
        wanted += !is_text          ? found
                  : found == "NULL" ? found
                  : has_texts       ? "(SELECT value FROM StringIds WHERE id = " + found + ")"
                                    : "NULL";
    }
    query_.emplace(base.prepare("SELECT " + wanted + " FROM \"" + std::string(table) + "\" t"));
}

std::optional<std::array<int64_t, 3>> NsysTable::three(int column) const {
    if (!maybe(column) || !maybe(column + 1) || !maybe(column + 2)) return {};
    return std::array{number(column), number(column + 1), number(column + 2)};
}

}  // namespace gpushim::analysis
