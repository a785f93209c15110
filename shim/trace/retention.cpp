#include "retention.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "../calls/api.h"
#include "freed_tables.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kShortestPartNs = 1000;
constexpr int64_t kTablesAtOnce = 4;  // that have many rows in the same time: launches, their times, gaps …
constexpr int64_t kMostMarkers = 1024;  // that say where recording was switched, of spans that are gone
constexpr int64_t kKeptSamples = 6;     // every n-th span keeps one

// Rows of observers that are in time order, beside `*_device`.
constexpr const char* kSampled[] = {"nvml", "cost", "device_clock", "python_sample", "python_launch"};

std::string text(std::initializer_list<const char*> parts) {
    std::string sum;
    for (const char* part : parts) sum += part;
    return sum;
}

// Of a row of `call`.
bool names_communicators(const int64_t* row) {
    return api_traits[row[column::call::api_id] % kApis].kind == EventKind::communicator;
}

// Of the calls that rows stand for: recorded, recovered, unfinished.
std::string sums_of(const char* calls) {
    if (calls == nullptr) return ", 0, 0, 0";
    std::string sums;
    for (const std::string& is_so : {kWasRecorded.sql(), kWasRecovered.sql(), "NOT " + kReturned.sql()})
        sums += text({", coalesce(sum(", calls, " * (", is_so.c_str(), ")), 0)"});
    return sums;
}

Statement nth_row_of(Database& base, const char* table) {
    return base.prepare(text({"SELECT enter_ns FROM ", table,
                              " WHERE enter_ns >= ? AND enter_ns < ? ORDER BY enter_ns LIMIT 1 OFFSET ?"}));
}

int64_t fact(Database& base, const char* key) {
    Statement row = base.prepare("SELECT coalesce(max(value), 0) FROM meta WHERE key = ?");
    row.bind(1, std::string_view(key)).step();
    return row.number(0);
}

}  // namespace

bool Retention::is_in_time(const char* table) {
    const size_t length = std::strlen(table);
    return (length > 7 && std::strcmp(table + length - 7, "_device") == 0) ||
           std::ranges::any_of(kSampled, [&](const char* name) { return std::strcmp(table, name) == 0; });
}

void Retention::Calls::add(int64_t calls, int64_t flags) {
    if (!kReturned(flags))
        unfinished += calls;
    else
        (kWasRecovered(flags) ? recovered : recorded) += calls;
}

Retention::Retention(Database& base, const Translator& translator, Samples& samples)
    : base_(base),
      translator_(translator),
      samples_(samples),
      slots_(fact(base, "started_mono_ns"), fact(base, "started_real_ns")),
      slot_row_(base.prepare("REPLACE INTO kept_slot VALUES (?, ?, ?, ?, ?, ?, ?, ?)")),
      slot_end_(base.prepare("DELETE FROM kept_slot WHERE slot = ?")),
      touching_(base.prepare("SELECT min(from_ns), max(until_ns), sum(recorded), sum(recovered),"
                             " sum(unfinished) FROM summarised WHERE from_ns <= ?2 AND until_ns >= ?1")),
      untouched_(base.prepare("DELETE FROM summarised WHERE from_ns <= ?2 AND until_ns >= ?1")),
      gone_row_(base.prepare("INSERT INTO summarised VALUES (?, ?, ?, ?, ?)")),
      marker_rows_(base.prepare("SELECT count(*) FROM marker WHERE enter_ns >= ? AND enter_ns < ?")),
      memory_rows_(base.prepare("SELECT enter_ns, api_id, address, bytes, flags, allocated_ns FROM memory"
                                " WHERE enter_ns >= ? AND enter_ns < ?")),
      memory_end_(base.prepare("DELETE FROM memory WHERE enter_ns = ?")),
      allocation_(base.prepare("SELECT enter_ns, flags FROM memory WHERE enter_ns BETWEEN ?1 AND ?1 + ?2"
                               " AND address = ?3 AND bytes >= 0")),
      handle_end_(
          base.prepare("DELETE FROM handle WHERE id >= ?1 AND id < ?2 AND kind = 'event' AND coalesce("
                       "died_ns, (SELECT e.died_ns FROM handle_end e WHERE e.handle_id = id)) < ?3 AND ("
                       "coalesce(died_ns, (SELECT e.died_ns FROM handle_end e WHERE e.handle_id = id)) < ?4"
                       " OR born_ns >= ?5)")),
      handle_end_end_(base.prepare("DELETE FROM handle_end WHERE handle_id >= ?1 AND handle_id < ?2 AND"
                                   " handle_id NOT IN (SELECT id FROM handle WHERE id >= ?1 AND id < ?2)")),
      newest_handle_(base.prepare("SELECT coalesce(max(id), 0) + 1 FROM handle")) {
    nth_rows_.push_back(nth_row_of(base, "memory"));
    for (const FreedTable& table : kFreed) {
        nth_rows_.push_back(nth_row_of(base, table.name));
        const std::string rows =
            text({" FROM ", table.name, " WHERE enter_ns >= ? AND enter_ns < ?", stays_of(table.name)});
        deletions_.push_back(base.prepare("DELETE" + rows));
        counts_.push_back(base.prepare("SELECT count(*)" + sums_of(table.calls) + rows));
    }
    if (!base.is_new()) load();
}

int64_t Retention::newest_row() const {
    int64_t newest_ns = 0;
    for (const FreedTable& table : kFreed) {
        Statement row = base_.prepare(text({"SELECT coalesce(max(enter_ns), 0) FROM ", table.name}));
        row.step();
        newest_ns = std::max(newest_ns, row.number(0));
    }
    return newest_ns;
}

void Retention::load() {
    Statement rows = base_.prepare(
        "SELECT slot, from_ns, rows, launches, steps, step_ns, first_handle, asked FROM kept_slot");
    while (rows.step())
        slots_.put(rows.number(0), {rows.number(1), rows.number(2), rows.number(3), rows.number(4),
                                    rows.number(5), rows.number(6), rows.number(7) != 0});
    newest_ns_ = newest_row();
    load_windows();
    Statement markers = base_.prepare(
        "SELECT count(*) FROM summarised CROSS JOIN marker ON enter_ns >= from_ns AND"
        " enter_ns < until_ns");
    markers.step();
    kept_markers_ = markers.number(0);
}

int64_t Retention::first_row(int64_t from_ns, int64_t until_ns) {
    for (Statement& nth : nth_rows_) {
        nth.bind(1, from_ns).bind(2, until_ns).bind(3, 0);
        if (!nth.step()) continue;
        until_ns = nth.number(0);
        nth.step();
    }
    return until_ns;
}

// Which rows are in windows the windows say. One that was not stored holds nothing: what is left goes as the
// rest does.
void Retention::load_windows() {
    Statement windows = base_.prepare("SELECT enter_ns, enter_ns + dur_ns FROM \"window\" ORDER BY enter_ns");
    while (windows.step()) slots_.load_window(windows.number(0), windows.number(1));
    for (auto& [number, slot] : slots_.all())
        if (!slot.holds() && slot.from_ns > slots_.begin_of(number))
            slot.from_ns = first_row(slots_.begin_of(number), slot.from_ns);
}

void Retention::note_rows(const Rows& rows, size_t from, size_t until, int64_t launches) {
    KeptSlot* slot = nullptr;
    int64_t from_ns = 0, until_ns = 0;
    for (size_t i = from; i < until; ++i) {
        const int64_t ns = *rows.row(i);
        if (slot == nullptr || ns < from_ns || ns >= until_ns) {
            slot = &slots_.at(ns);
            from_ns = slots_.begin_of(slots_.number_of(ns));
            until_ns = slots_.end_of(slots_.number_of(ns));
        }
        slots_.add_row(*slot, ns);
        slot->launches += launches;
        newest_ns_ = std::max(newest_ns_, ns);
    }
}

void Retention::note_observed(const Rows& rows) {
    if (is_in_time(rows.table())) note_rows(rows, rows.shown_from(), rows.shown_until(), 0);
}

void Retention::note(Tables& tables, bool asked) {
    for (const Rows* rows : tables.in_time())
        note_rows(*rows, 0, rows->count(), rows == &tables.launch || rows == &tables.graph_launch ? 1 : 0);
    for (size_t i = 0; i < tables.marker.count(); ++i) {
        const row::marker marker = tables.marker.at(i);
        const std::string& kind = *tables.marker.text_of(column::marker::kind, marker.kind);
        if (kind == "mark") slots_.at(marker.enter_ns).asked = true;
    }
    for (size_t i = 0; i < tables.step_total.count(); ++i) {
        const row::step_total step = tables.step_total.at(i);
        const bool is_range = step.sum_ns != kNull;
        is_range ? slots_.step(step.thread_id, step.enter_ns, step.enter_ns + step.sum_ns)
                 : slots_.mark(step.thread_id, step.enter_ns);
    }
    if (newest_ns_ == 0) return;
    KeptSlot& newest = slots_.at(newest_ns_);
    newest.asked |= asked;
    if (newest.first_handle == 0 && tables.handle.count() != 0) newest.first_handle = tables.handle.at(0).id;
}

void Retention::write() {
    for (const int64_t number : slots_.changed()) {
        const auto found = slots_.all().find(number);
        if (found == slots_.all().end()) continue;
        const KeptSlot& slot = found->second;
        slot_row_.bind(1, number).bind(2, slot.from_ns).bind(3, slot.rows).bind(4, slot.launches);
        slot_row_.bind(5, slot.steps).bind(6, slot.step_ns).bind(7, slot.first_handle);
        slot_row_.bind(8, slot.asked ? 1 : 0).step();
    }
    slots_.changed().clear();
}

// Until there, so many rows of each table, of those that have more.
int64_t Retention::end_of_rows(int64_t from_ns, int64_t until_ns, int64_t most_rows) {
    for (Statement& nth : nth_rows_) {
        nth.bind(1, from_ns).bind(2, until_ns).bind(3, most_rows);
        if (!nth.step()) continue;
        until_ns = nth.number(0);
        nth.step();
    }
    return until_ns;
}

// Of the newest span that part which is over. Rows may come in bursts: they are counted, and time is not.
Retention::Part Retention::part_of(KeptSlots::Part of, int64_t most_rows) {
    const auto [from_ns, end_ns] = slots_.span_of(of);
    const int64_t over_ns = std::min(end_ns, std::max(newest_ns_, from_ns + kShortestPartNs));
    const int64_t until_ns = end_of_rows(from_ns, over_ns, most_rows / kTablesAtOnce);
    return {from_ns, std::min(std::max(until_ns, from_ns + kShortestPartNs), end_ns)};
}

// With a free goes its allocation, which may have stayed because it was held: or it would be held for ever by
// who opens the trace again.
void Retention::free_allocation(int64_t address, int64_t allocated_ns, Calls& calls) {
    if (allocated_ns == kNull) return;
    allocation_.bind(1, allocated_ns).bind(2, kMostMovedNs).bind(3, address);
    if (!allocation_.step()) return;
    const int64_t enter_ns = allocation_.number(0);
    calls.add(1, allocation_.number(1));
    while (allocation_.step()) continue;
    memory_end_.bind(1, enter_ns).step();
}

int64_t Retention::free_memory(const Part& part, Calls& calls) {
    struct Row {
        int64_t enter_ns, address, allocated_ns, flags;
    };
    std::vector<Row> over;
    memory_rows_.bind(1, part.from_ns).bind(2, part.until_ns);
    while (memory_rows_.step()) {
        const int64_t address = memory_rows_.number(2);
        const bool is_held = address != kNull && memory_rows_.number(3) >= 0 &&
                             translator_.is_held(memory_rows_.number(1), static_cast<uint64_t>(address),
                                                 memory_rows_.number(0));
        if (!is_held)
            over.push_back({memory_rows_.number(0), address, memory_rows_.number(5), memory_rows_.number(4)});
    }
    for (const Row& row : over) {
        calls.add(1, row.flags);
        memory_end_.bind(1, row.enter_ns).step();
    }
    for (const Row& row : over) free_allocation(row.address, row.allocated_ns, calls);
    return static_cast<int64_t>(over.size());
}

int64_t Retention::rows_in(Statement& count, const Part& part) {
    count.bind(1, part.from_ns).bind(2, part.until_ns).step();
    const int64_t rows = count.number(0);
    count.step();
    return rows;
}

int64_t Retention::free_part(const Part& part, Calls& calls) {
    int64_t rows = free_memory(part, calls);
    for (size_t i = 0; i < std::size(kFreed); ++i) {
        Statement& count = counts_[i];
        const bool of_markers = std::strcmp(kFreed[i].name, "marker") == 0;
        const int64_t all = kept_markers_ >= kMostMarkers ? 1 : 0;
        if (of_markers) count.bind(3, all);
        count.bind(1, part.from_ns).bind(2, part.until_ns).step();
        const int64_t there = count.number(0);
        calls.recorded += count.number(1);
        calls.recovered += count.number(2);
        calls.unfinished += count.number(3);
        count.step();
        if (of_markers) deletions_[i].bind(3, all);
        if (there != 0) deletions_[i].bind(1, part.from_ns).bind(2, part.until_ns).step();
        if (of_markers) kept_markers_ += rows_in(marker_rows_, part);
        rows += there;
    }
    return rows;
}

// Spans that touch become one.
void Retention::summarise(Part part, const Calls& calls) {
    Calls sum = calls;
    touching_.bind(1, part.from_ns).bind(2, part.until_ns).step();
    if (touching_.number(0) != kNull) {
        part.from_ns = std::min(part.from_ns, touching_.number(0));
        part.until_ns = std::max(part.until_ns, touching_.number(1));
        sum.recorded += touching_.number(2);
        sum.recovered += touching_.number(3);
        sum.unfinished += touching_.number(4);
        touching_.step();
        untouched_.bind(1, part.from_ns).bind(2, part.until_ns).step();
    } else {
        touching_.step();
    }
    gone_row_.bind(1, part.from_ns).bind(2, part.until_ns).bind(3, sum.recorded).bind(4, sum.recovered);
    gone_row_.bind(5, sum.unfinished).step();
}

int64_t Retention::first_handle_after(int64_t number) const {
    for (auto next = slots_.all().upper_bound(number); next != slots_.all().end(); ++next)
        if (next->second.first_handle != 0) return next->second.first_handle;
    return INT64_MAX;
}

// Programs make events without end. Who outlives the span stays. False: there are more.
bool Retention::forget_handles(int64_t number, KeptSlot& slot, int64_t until_ns, int64_t most_rows) {
    if (slot.first_handle == 0) return true;
    newest_handle_.step();
    const int64_t last = std::min(first_handle_after(number), newest_handle_.number(0));
    newest_handle_.step();
    const int64_t from = slot.first_handle, until = std::min(last, from + most_rows);
    // From the first window that holds to the last.
    int64_t held_from_ns = INT64_MAX, held_until_ns = 0;
    for (const HeldWindow& window : slot.windows) {
        if (!window.holds()) continue;
        held_from_ns = std::min(held_from_ns, window.from_ns);
        held_until_ns = std::max(held_until_ns, window.until_ns);
    }
    const bool holds = slot.holds();
    handle_end_.bind(1, from).bind(2, until).bind(3, until_ns);
    handle_end_.bind(4, held_from_ns).bind(5, held_until_ns).step();
    handle_end_end_.bind(1, from).bind(2, until).step();
    // Of a span that goes on the next part looks again.
    if (!holds && until_ns >= slots_.end_of(number)) slot.first_handle = std::max(until, from);
    return until == last;
}

// Unless it has more samples than that: then the next time.
void Retention::end_slot(int64_t number, int64_t most_rows) {
    if (!samples_.thin_some(slots_.begin_of(number), slots_.end_of(number), number % kKeptSamples == 0,
                            most_rows))
        return;
    slot_end_.bind(1, number).step();
    slots_.drop(number);
}

bool Retention::free_some(int64_t most_rows) {
    const KeptSlots::Part first = slots_.least_worth();
    return free_of(first, most_rows) || free_of(slots_.least_worth(first), most_rows);
}

bool Retention::free_of(KeptSlots::Part least, int64_t most_rows) {
    const int64_t number = least.slot;
    if (number == KeptSlots::kNone) return false;
    KeptSlot& slot = slots_.all().at(number);
    const Part part = part_of(least, most_rows);
    const bool has_rows = part.from_ns < part.until_ns;
    // Of the newest span everything is gone but what has just come.
    if (has_rows && part.from_ns > newest_ns_) return false;
    base_.begin(false);
    if (has_rows) {
        Calls calls;
        const int64_t rows = free_part(part, calls);
        summarise(part, calls);
        slots_.gone(least, part.until_ns, rows);
    }
    slots_.changed().insert(number);
    const bool over =
        forget_handles(number, slot, slots_.span_of({number, KeptSlots::kRest}).from_ns, most_rows);
    if (over && slots_.is_over(number)) end_slot(number, most_rows);
    write();
    base_.commit();
    return true;
}

void Retention::leave_out(Tables& tables) {
    Calls calls;
    int64_t from_ns = INT64_MAX, until_ns = 0;
    for (const auto& [rows, columns] : tables.events()) {
        if (rows == &tables.memory || rows == &tables.marker) continue;
        const bool is_call = rows == &tables.call;
        for (size_t i = 0; i < rows->count(); ++i) {
            const int64_t* row = rows->row(i);
            if (is_call && names_communicators(row)) continue;
            calls.add(columns.calls == column::none ? 1 : row[columns.calls], row[columns.flags]);
            from_ns = std::min(from_ns, row[0]);
            until_ns = std::max(until_ns, row[0] + 1);
        }
        // What communicators are named by is needed to go on.
        rows->erase_unless([is_call](const int64_t* row) { return is_call && names_communicators(row); });
    }
    tables.host_gap.clear();
    tables.nccl_operation.clear();
    tables.nccl_channel.clear();
    tables.nccl_network.clear();
    if (until_ns != 0) summarise({from_ns, until_ns}, calls);
}

}  // namespace gpushim::shim
