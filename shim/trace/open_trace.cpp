#include "open_trace.h"

#include <time.h>

#include <algorithm>
#include <set>

#include "../base/protection.h"
#include "../base/system.h"
#include "../rows/drop_reasons.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kSyncEvery_ns = 1'000'000'000;
constexpr size_t kMostPendingSeconds = 4096;
constexpr int kPartsOfMany = 4;  // samples take at most so much of a transaction, or one apart

// In `drop`: what no ring has lost, but we.
constexpr int64_t kNoRing = -1;

bool is(const Slot& slot, EventKind kind) { return slot.kind == static_cast<uint8_t>(kind); }

// Slots that are no events of the program. A text is counted with its event; alone only if it was never
// completed, for then its event has not got it.
bool is_of_program(const Event& event) {
    const bool own =
        event.slot.api == kNoApi && !is(event.slot, EventKind::marker) && !is(event.slot, EventKind::span);
    return !own && !is(event.slot, EventKind::text) && !is(event.slot, EventKind::odd_launch) &&
           !is(event.slot, EventKind::thread);
}
uint64_t annex_of(const Event& event) {
    if (is(event.slot, EventKind::text)) return event.exit_ns == kUnfinished ? 1 : 0;
    return (event.text.size() + kTextBytes - 1) / kTextBytes + (is_of_program(event) ? 0 : 1);
}

uint64_t further_polls_of(const Event& event) {
    if (!is(event.slot, EventKind::query) || event.exit_ns == kUnfinished) return 0;
    const uint64_t times = words_of<event::query>(event.slot).times;
    return times > 1 ? times - 1 : 0;
}

Limits limits_of(Database& base, bool recovering) {
    Statement row = base.prepare(
        "SELECT coalesce((SELECT value FROM meta WHERE key = 'max_bytes'), 0),"
        " coalesce((SELECT value FROM meta WHERE key = 'min_free_bytes'), 0)");
    row.step();
    // Who recovers a trace has asked for it.
    const Limits limits = {row.number(0), recovering ? 0 : row.number(1)};
    row.step();
    return limits;
}

constexpr int64_t kEventBytes = 80, kClockBytes = 30, kNumberBytes = 10;

// What a batch adds to the file, at most: a name makes rows of a handle, too.
int64_t size_of_events(const Batch& batch) {
    int64_t bytes = FileSize::kTransactionBytes;
    for (const Event& event : batch.events)
        bytes += kEventBytes + 4 * static_cast<int64_t>(event.text.size());
    return bytes;
}
int64_t size_of(const Rows& rows, size_t count) {
    return static_cast<int64_t>(count * static_cast<size_t>(rows.columns())) * kNumberBytes;
}
int64_t size_of_samples(const Batch& batch) {
    int64_t bytes = static_cast<int64_t>(batch.clock.size()) * kClockBytes;
    for (const Rows* rows : batch.observed) bytes += size_of(*rows, rows->count());
    return bytes;
}

}  // namespace

OpenTrace::OpenTrace(std::unique_ptr<Database> base, const std::string& path, bool recovering,
                     TimedOperations& timed)
    : opened_(std::move(base)),
      base_(*opened_),
      timed_(timed),
      translator_(tables_, timed, recovering, limits_of(limits_of(base_, recovering).max_bytes)),
      rollups_(base_, translator_.series()),
      space_(base_, path, limits_of(base_, recovering), translator_),
      ring_row_(base_.prepare("REPLACE INTO ring_commit VALUES (?, ?, ?, ?, ?, ?)")),
      clock_row_(base_.prepare("INSERT OR IGNORE INTO clock VALUES (?, ?, ?)")),
      drop_row_(base_.prepare("REPLACE INTO \"drop\" VALUES (?, ?, ?, ?)")),
      older_drops_(base_.prepare("DELETE FROM \"drop\" WHERE ring_id = ? AND reason = ? AND seen_ns < ?")),
      fact_row_(base_.prepare("REPLACE INTO meta VALUES (?, ?)")) {
    insertions_.resize(tables_.all().size());
    for (const Rows* rows : tables_.in_time()) starts_.emplace_back(base_, rows->table());
    translator_.load(base_);
    if (!base_.is_new()) load_rings();
}

void OpenTrace::load_rings() {
    Statement rows = base_.prepare("SELECT ring_id, annex, polls, seq, open FROM ring_commit");
    while (rows.step()) {
        const auto ring = static_cast<uint64_t>(rows.number(0));
        counts_[ring] = {static_cast<uint64_t>(rows.number(1)), static_cast<uint64_t>(rows.number(2))};
        committed_[ring] = {static_cast<uint64_t>(rows.number(3)), rows.blob(4)};
    }
    Statement lost = base_.prepare("SELECT coalesce(max(events), 0) FROM \"drop\" WHERE ring_id = ?");
    lost.bind(1, kNoRing).step();
    left_out_ = static_cast<uint64_t>(lost.number(0));
    Statement facts =
        base_.prepare("SELECT key, value FROM meta WHERE key = 'moved_starts' OR key LIKE '%_left_out'");
    while (facts.step()) facts_before_[facts.text(0)] = static_cast<uint64_t>(facts.number(1));
    facts_written_ = facts_before_;
}

// A commit that could not be synced was called failed, and yet may be in the log that was opened anew.
bool OpenTrace::is_in_already(const Event& event) const {
    const auto ring = committed_.find(event.ring_id);
    return ring != committed_.end() && ring->second.has(event.position);
}

// By time over all threads: so what made a handle comes before what uses it.
void OpenTrace::translate(const Batch& batch) {
    const auto events = batch.events;
    order_.clear();
    timed_.start_batch();
    for (size_t i = 0; i < events.size(); ++i)
        if (committed_.empty() || !is_in_already(events[i])) order_.emplace_back(events[i].enter_ns, i);
    if (!std::is_sorted(order_.begin(), order_.end())) std::sort(order_.begin(), order_.end());
    for (const auto& [enter_ns, index] : order_) take(events, index);
    translator_.end_of_batch(batch.watermark_ns);
    for (size_t i = 0; i < starts_.size(); ++i) starts_[i].place(*tables_.in_time()[i]);
    timed_.settle(tables_);
    rollups_.add(tables_);
}

void OpenTrace::take(std::span<const Event> events, size_t index) {
    const Event& event = events[index];
    Counts& count = counts_[event.ring_id];
    count.annex += annex_of(event);
    count.polls += further_polls_of(event);
    const auto follows = [&](const Event& next) {
        return is(next.slot, EventKind::odd_launch) && next.ring_id == event.ring_id &&
               next.position == event.position + 1;
    };
    if (is(event.slot, EventKind::odd_launch)) {
        const Event* before = index > 0 ? &events[index - 1] : nullptr;
        const bool with_launch =
            before != nullptr && before->ring_id == event.ring_id && before->position + 1 == event.position;
        if (with_launch || seconds_.size() >= kMostPendingSeconds) return;
        seconds_[{event.ring_id, event.position - 1}] = words_of<event::odd_launch>(event.slot);
        return;
    }
    if (index + 1 < events.size() && follows(events[index + 1])) {
        const auto odd = words_of<event::odd_launch>(events[index + 1].slot);
        return translator_.take(event, &odd);
    }
    const auto second = seconds_.empty() ? seconds_.end() : seconds_.find({event.ring_id, event.position});
    if (second == seconds_.end()) return translator_.take(event, nullptr);
    translator_.take(event, &second->second);
    seconds_.erase(second);
}

void OpenTrace::write_drops(const RingProgress& ring, int64_t seen_ns) {
    auto& known = drops_[ring.ring_id];
    for (size_t i = 0; i < ring.dropped.size() && i < kDrops; ++i) {
        if (ring.dropped[i] == known[i]) continue;
        known[i] = ring.dropped[i];
        write_drop(static_cast<int64_t>(ring.ring_id), static_cast<Drop>(i), seen_ns, known[i]);
    }
}

// Where there is hardly any room the newest has to do.
void OpenTrace::write_drop(int64_t ring, Drop why, int64_t seen_ns, uint64_t events) {
    const std::string_view reason = kDropReasons[static_cast<size_t>(why)];
    if (why == Drop::size) older_drops_.bind(1, ring).bind(2, reason).bind(3, seen_ns).step();
    drop_row_.bind(1, ring).bind(2, reason).bind(3, seen_ns).bind(4, static_cast<int64_t>(events)).step();
}

void OpenTrace::write_rings(const Batch& batch) {
    for (const RingProgress& ring : batch.rings) {
        if (!kept(Protection::committed_positions)) break;
        const Counts& count = counts_[ring.ring_id];
        ring_row_.bind(1, static_cast<int64_t>(ring.ring_id)).bind(2, static_cast<int64_t>(ring.next));
        ring.open.empty() ? ring_row_.bind(3, kNull) : ring_row_.bind(3, ring.open);
        ring_row_.bind(4, static_cast<int64_t>(count.annex)).bind(5, static_cast<int64_t>(count.polls));
        ring_row_.bind(6, batch.watermark_ns).step();
        write_drops(ring, batch.watermark_ns);
    }
}

void OpenTrace::write_counts(const Batch& batch) {
    uint64_t moved = 0;
    for (const UniqueStarts& table : starts_) moved += table.moved();
    write_count("moved_starts", moved);
    for (const auto& [key, times] : translator_.left_out()) write_count(key, times);
    write_count("samples_left_out", samples_left_out_);
    write_count("unknown_abi", batch.unknown_abi);
    write_count("untimed_programmatic", batch.programmatic);
    write_count("untimed_measured", batch.measured);
    if (batch.ended != nullptr) write_end(batch.ended);
}

void OpenTrace::note_end(const char* how) {
    base_.begin_last();
    write_end(how);
    base_.commit();
}

void OpenTrace::write_end(const char* how) {
    fact_row_.bind(1, std::string_view("ended")).bind(2, std::string_view(how)).step();
}

void OpenTrace::write_count(const char* key, uint64_t since_opened) {
    if (since_opened == 0) return;
    const uint64_t all = facts_before_[key] + since_opened;
    uint64_t& written = facts_written_[key];
    if (all == written) return;
    fact_row_.bind(1, std::string_view(key)).bind(2, static_cast<int64_t>(all)).step();
    written = all;
}

// Observers keep their blocks, mostly.
OpenTrace::Observed& OpenTrace::observed_of(Rows& rows) {
    Observed& observed = observed_[rows.table()];
    if (observed.rows == &rows) return observed;
    const bool is_summed_up = rows.has_extra();
    observed.insertion.emplace(
        base_.insertion_of(rows, is_summed_up ? Database::Refused::fail : Database::Refused::skip));
    if (is_summed_up)
        observed.there.emplace(
            base_.prepare(std::string("SELECT 1 FROM ") + rows.table() + " WHERE enter_ns = ?"));
    observed.rows = &rows;
    return observed;
}

// Of the rows shown. What an observer says twice must not keep the events out, nor be added up twice.
void OpenTrace::insert_new(Rows& rows) {
    Observed& observed = observed_of(rows);
    try {
        observed.insertion->step();
    } catch (const DatabaseError& e) {
        if (!e.is_there_already() || !observed.there) throw;
        std::set<int64_t> seen;
        const size_t from = rows.shown_from(), until = rows.shown_until();
        size_t index = 0, erased = 0;
        rows.erase_unless([&](const int64_t* row) {
            const size_t at = index++;
            if (at < from || at >= until) return true;
            const bool is_there = observed.there->bind(1, *row).step();
            if (is_there) observed.there->step();
            const bool is_new = !is_there && seen.insert(*row).second;
            if (!is_new) ++erased;
            return is_new;
        });
        rows.show(from, until - erased);
        observed.insertion->step();
    }
}

void OpenTrace::write_clock(std::span<const ClockPair> pairs) {
    for (const ClockPair& pair : pairs)
        clock_row_.bind(1, pair.mono_ns)
            .bind(2, static_cast<int64_t>(pair.ticks))
            .bind(3, pair.real_ns)
            .step();
}

// With what they add to the totals.
void OpenTrace::write_apart(Rows& rows, size_t count) {
    const Share share = space_.make(FileSize::kTransactionBytes + size_of(rows, count));
    rows.show(0, count);
    base_.begin(false);
    insert_observed(rows, share);
    space_.retention().write();
    const auto blocks = tables_.all();
    for (size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i] == &tables_.series) insert_block(i);
    rollups_.write();
    base_.commit();
    rows.erase_first(rows.shown_until());
    tables_.series.clear();
    rollups_.clear();
}

// Where nothing could be written for long they are so many that they would not fit. Then they go in by
// transactions of their own: they stand for themselves.
void OpenTrace::write_samples(const Batch& batch) {
    const size_t some = space_.size().most_slots() / kPartsOfMany;
    for (size_t from = 0; from < batch.clock.size(); from += some) {
        const auto pairs = batch.clock.subspan(from, std::min(some, batch.clock.size() - from));
        const int64_t bytes = static_cast<int64_t>(pairs.size()) * kClockBytes;
        if (space_.make(FileSize::kTransactionBytes + bytes) != Share::rows) {
            samples_left_out_ += pairs.size();
            continue;
        }
        base_.begin(false);
        write_clock(pairs);
        base_.commit();
    }
    for (Rows* rows : batch.observed)
        while (rows->count() != 0) write_apart(*rows, std::min(some, rows->count()));
}

Share OpenTrace::make_room(const Batch& batch, Share most) {
    pairs_apart_ = false;
    if (most == Share::counts) {
        space_.size().expect(FileSize::kTransactionBytes);
        return most;
    }
    const int64_t events_bytes = size_of_events(batch), samples_bytes = size_of_samples(batch);
    pairs_apart_ = samples_bytes > space_.size().most_bytes() / kPartsOfMany;
    if (pairs_apart_) write_samples(batch);
    return space_.make(events_bytes + (pairs_apart_ ? 0 : samples_bytes));
}

void OpenTrace::write(const Batch& batch, bool keep, Share share) {
    if (share == Share::counts) return count_only(batch);
    translate(batch);
    insert(batch, keep, share);
}

// Of the rows shown. Where there is no room only what others refer to.
void OpenTrace::insert_observed(Rows& rows, Share share) {
    if (rows.count() == 0) return;
    if (share == Share::rows || !Retention::is_in_time(rows.table())) {
        insert_new(rows);
        space_.retention().note_observed(rows);
    } else {
        samples_left_out_ += rows.has_extra() ? 0 : rows.shown_until() - rows.shown_from();
    }
    rollups_.add_device_times(rows);
}

// Nothing of them is known afterwards but how many there were, as if they had been lost in their rings; only
// events of ours come back.
void OpenTrace::count_only(const Batch& batch) {
    batch.ended != nullptr ? base_.begin_last() : base_.begin(false);
    timed_.start_batch();
    for (const Event& event : batch.events) {
        if (is_in_already(event)) continue;
        Counts& count = counts_[event.ring_id];
        count.annex += annex_of(event) + (is_of_program(event) ? 1 : 0);
        if (is_of_program(event)) left_out_ += 1 + further_polls_of(event);
        if (is(event.slot, EventKind::timed)) timed_.timed(event);
    }
    timed_.settle(tables_);
    for (const Rows* rows : batch.observed) samples_left_out_ += rows->count();
    samples_left_out_ += batch.samples_left_out;
    write_rings(batch);
    write_left_out();
    write_counts(batch);
    base_.commit();
    committed_.clear();
}

void OpenTrace::write_left_out() {
    if (left_out_ != 0) write_drop(kNoRing, Drop::size, clock_ns(CLOCK_MONOTONIC), left_out_);
}

void OpenTrace::insert_block(size_t index) {
    Rows& rows = *tables_.all()[index];
    if (rows.count() == 0) return;
    std::optional<Statement>& insertion = insertions_[index];
    if (!insertion) insertion.emplace(base_.insertion_of(rows));
    insertion->step();
}

void OpenTrace::insert(const Batch& batch, bool keep, Share share) {
    const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    const bool durable = now_ns - synced_ns_ >= kSyncEvery_ns;
    const int64_t used_before_bytes = space_.size().used_bytes();
    batch.ended != nullptr ? base_.begin_last() : base_.begin(durable);
    if (share != Share::rows) space_.retention().leave_out(tables_);
    space_.retention().hold(batch.window_from_ns, batch.window_until_ns);
    for (Rows* rows : batch.observed) {
        rows->show_all();
        insert_observed(*rows, share);
    }
    space_.retention().note(tables_, keep);
    space_.retention().write();
    const auto blocks = tables_.all();
    for (size_t i = 0; i < blocks.size(); ++i) insert_block(i);
    rollups_.write();
    write_rings(batch);
    if (!pairs_apart_) write_clock(batch.clock);
    samples_left_out_ += batch.samples_left_out;
    write_counts(batch);
    if (space_.size().takes_of_reserve(used_before_bytes))
        throw NoRoom(Drop::size, "the trace has reached its size limit");
    base_.commit();
    if (durable) synced_ns_ = now_ns;
    committed_.clear();
    tables_.clear();
    rollups_.clear();
}

}  // namespace gpushim::shim
