#include "ledger.h"

#include "../../shim/schema/flags.h"
#include "../sqlite/number_rows.h"
#include "event_tables.h"

namespace gpushim::analysis {

extern const char kTraceSchema[];  // what is written today

namespace {

bool has_todays_view(const Database& base) {
    Query view = base.prepare("SELECT sql FROM sqlite_schema WHERE name = 'v_ledger'");
    return view.step() && std::string_view(kTraceSchema).find(view.text(0)) != std::string_view::npos;
}

void count_rows(const Database& base, const EventTable& table, Ledger& ledger) {
    constexpr size_t kFlags = 0, kCalls = 1;
    const bool is_many = std::string_view(table.calls) != "one";  // a row may stand for several calls
    NumberRows rows(
        base, table.name, "enter_ns",
        is_many ? std::vector<std::string>{"flags", table.calls} : std::vector<std::string>{"flags"});
    while (rows.next()) {
        const NumberRow& row = rows.row();
        const auto alike = static_cast<int64_t>(1 + rows.pass_alike());
        if (row.is_null(kFlags)) continue;
        const int64_t flags = row.number(kFlags), calls = alike * (is_many ? row.number(kCalls) : 1);
        if (kWasRecorded(flags)) ledger.recorded += calls;
        if (kWasRecovered(flags)) ledger.recovered += calls;
        if (!kReturned(flags)) ledger.unfinished += calls;
    }
}

}  // namespace

Ledger ledger_in_sql(const Database& base) {
    Query row =
        base.prepare("SELECT produced, recorded, recovered, unfinished, dropped, unknown FROM v_ledger");
    if (!row.step()) return {};
    return {row.number(0), row.number(1), row.number(2), row.number(3), row.number(4), row.number(5)};
}

Ledger ledger_of(const Database& base) {
    if (!has_todays_view(base)) return ledger_in_sql(base);
    Ledger ledger;
    for (const EventTable& table : event_tables_of(base)) count_rows(base, table, ledger);
    Query gone = base.prepare("SELECT sum(recorded), sum(recovered), sum(unfinished) FROM summarised");
    if (gone.step()) {
        ledger.recorded += gone.number(0);
        ledger.recovered += gone.number(1);
        ledger.unfinished += gone.number(2);
    }
    Query rings = base.prepare("SELECT sum(seq - annex + polls), sum(length(open) / 8) FROM ring_commit");
    const bool has_rings = rings.step();
    const int64_t passed = has_rings ? rings.number(0) : 0, in_progress = has_rings ? rings.number(1) : 0;
    Query lost = base.prepare("SELECT sum(events) FROM v_drop");
    ledger.dropped = lost.step() ? lost.number(0) : 0;
    ledger.unknown = passed - ledger.recorded - ledger.recovered - ledger.unfinished - in_progress;
    ledger.unfinished += in_progress;
    ledger.produced = passed + ledger.dropped;
    return ledger;
}

}  // namespace gpushim::analysis
