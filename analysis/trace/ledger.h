// Where every event of a trace went, as its view v_ledger says: produced = recorded + recovered + dropped +
// unfinished + unknown. Rows are counted from their pages, for the view reads all of them in SQL; where its
// words are not those of this version it is asked. One thread.
#pragma once

#include <cstdint>

#include "../sqlite/database.h"

namespace gpushim::analysis {

struct Ledger {
    int64_t produced = 0, recorded = 0, recovered = 0, unfinished = 0, dropped = 0, unknown = 0;
    friend bool operator==(const Ledger&, const Ledger&) = default;
};

Ledger ledger_of(const Database& base);

// What the view itself says.
Ledger ledger_in_sql(const Database& base);

}  // namespace gpushim::analysis
