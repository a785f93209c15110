#include "plain_tables.h"

#include "../failure.h"

namespace gpushim::analysis {

namespace {

// Views of ours are called v_… and compat_…; tables of modules have no pages.
constexpr const char* kStrange =
    "SELECT name FROM sqlite_schema WHERE type = 'view' AND name NOT GLOB 'v_*' AND name NOT GLOB 'compat_*'"
    " UNION ALL SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0"
    " UNION ALL SELECT s.name FROM sqlite_schema s, pragma_table_xinfo(s.name) c"
    " WHERE s.type = 'table' AND s.rootpage <> 0 AND c.hidden > 1";

}  // namespace

void require_plain_tables(const Database& base) {
    Query strange = base.prepare(kStrange);
    if (strange.step())
        throw Failure(base.where() + ": not made by gpushim: " + strange.text(0) + " is not a plain table");
}

}  // namespace gpushim::analysis
