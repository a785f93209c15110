#include "unique_starts.h"

#include <string>

namespace gpushim::shim {
namespace {

std::string sql(const char* before, const char* table, const char* after) {
    return std::string(before) + '"' + table + '"' + after;
}

}  // namespace

UniqueStarts::UniqueStarts(Database& base, const char* table)
    : there_(base.prepare(sql("SELECT 1 FROM ", table, " WHERE enter_ns = ?"))) {
    if (base.is_new()) return;
    Statement newest = base.prepare(sql("SELECT coalesce(max(enter_ns), 0) FROM ", table, ""));
    newest.step();
    newest_ = written_newest_ = newest.number(0);
    newest.step();
}

bool UniqueStarts::is_taken(int64_t start) {
    if (late_.contains(start)) return true;
    const bool taken = there_.bind(1, start).step();
    if (taken) there_.step();
    return taken;
}

int64_t UniqueStarts::place(int64_t start) {
    if (start > newest_) return newest_ = start;
    int64_t place = start;
    if (place > written_newest_) {
        place = newest_ + 1;
    } else {
        while (place <= written_newest_ && is_taken(place)) ++place;
        if (place > written_newest_ && place <= newest_) place = newest_ + 1;
        late_.insert(place);
    }
    if (place > newest_) newest_ = place;
    if (place != start) ++moved_;
    return place;
}

void UniqueStarts::place(Rows& rows) {
    written_newest_ = newest_;
    late_.clear();
    for (size_t i = 0; i < rows.count(); ++i) *rows.row(i) = place(*rows.row(i));
}

}  // namespace gpushim::shim
