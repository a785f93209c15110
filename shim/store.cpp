#include "store.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "identity_rows.h"
#include "rollup.h"
#include "room.h"
#include "schema.h"
#include "starts.h"
#include "system.h"
#include "translator.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kSyncEvery_ns = 1'000'000'000;
// How long to leave a file alone that could not be written: at least this, and three times as long as it took
// to fail.
constexpr int64_t kTryAgainAfter_ns = 50'000'000;
constexpr int64_t kTryAgainTimes = 3;
constexpr size_t kMostPendingSeconds = 4096;

constexpr const char* kDropReasons[] = {"full", "no_ring", "writer_down", "reader", "disk"};
static_assert(std::size(kDropReasons) == kDrops);

constinit char failure_text[256] = {};

void note_failure(const char* what) { std::snprintf(failure_text, sizeof failure_text, "%s", what); }

// Nothing that SQLite or the standard library throws leaves the store.
template <class F>
bool without_throwing(F&& work) noexcept {
    try {
        failure_text[0] = '\0';
        work();
        return true;
    } catch (const std::exception& e) {
        note_failure(e.what());
    }
    return false;
}

using Key = std::pair<uint64_t, uint64_t>;

bool is(const Slot& slot, EventKind kind) { return slot.kind == static_cast<uint8_t>(kind); }

// Slots that are no events of the program. A text is counted with its event; alone only if it was never
// completed, for then its event has not got it.
uint64_t annex_of(const Event& event) {
    if (is(event.slot, EventKind::text)) return event.exit_ns == kUnfinished ? 1 : 0;
    const bool own =
        event.slot.api == kNoApi && !is(event.slot, EventKind::marker) && !is(event.slot, EventKind::span);
    const bool is_annex = own || is(event.slot, EventKind::odd_launch) || is(event.slot, EventKind::thread);
    return (event.text.size() + kTextBytes - 1) / kTextBytes + (is_annex ? 1 : 0);
}

uint64_t further_polls_of(const Event& event) {
    const bool many =
        is(event.slot, EventKind::query) && event.exit_ns != kUnfinished && event.slot.word[1] > 1;
    return many ? event.slot.word[1] - 1 : 0;
}

Limits limits_of(Database& base, Store::Role role) {
    Statement row = base.prepare(
        "SELECT coalesce((SELECT value FROM meta WHERE key = 'max_bytes'), 0),"
        " coalesce((SELECT value FROM meta WHERE key = 'min_free_bytes'), 0)");
    row.step();
    // Who recovers a trace has asked for it.
    const Limits limits = {row.number(0), role == Store::Role::writer ? row.number(1) : 0};
    row.step();
    return limits;
}

constexpr int64_t kEventBytes = 80, kClockBytes = 30;

// What a batch adds to the file, at most: a name makes rows of a handle, too.
int64_t size_of(const Batch& batch, bool with_samples) {
    int64_t bytes = FileSize::kTransactionBytes;
    for (const Event& event : batch.events)
        bytes += kEventBytes + 4 * static_cast<int64_t>(event.text.size());
    if (!with_samples) return bytes;
    bytes += static_cast<int64_t>(batch.clock.size()) * kClockBytes;
    for (const Rows* rows : batch.observed)
        bytes += static_cast<int64_t>(rows->count() * static_cast<size_t>(rows->columns())) * 10;
    return bytes;
}

}  // namespace

// What is open between two failures. Everything here can be made again from the file.
struct Store::Parts {
    Parts(const std::string& path, Role role, TimedOperations& of_store)
        : base(path, Database::Open::write),
          timed(of_store),
          translator(tables, timed, role == Role::recovery),
          rollups(base, translator.series()),
          room(base, path, limits_of(base, role), translator) {
        for (Rows* rows : tables.all()) insertions.push_back(base.insertion_of(*rows));
        for (size_t i = 0; i < Tables::kInTime; ++i) starts.emplace_back(base, tables.all()[i]->table());
        translator.load(base);
        load_rings();
    }

    void load_rings() {
        Statement rows = base.prepare("SELECT ring_id, annex, polls FROM ring_commit");
        while (rows.step())
            counts[static_cast<uint64_t>(rows.number(0))] = {static_cast<uint64_t>(rows.number(1)),
                                                             static_cast<uint64_t>(rows.number(2))};
        Statement facts =
            base.prepare("SELECT key, value FROM meta WHERE key = 'moved_starts' OR key LIKE '%_left_out'");
        while (facts.step()) facts_before[facts.text(0)] = static_cast<uint64_t>(facts.number(1));
        facts_written = facts_before;
    }

    void translate(const Batch& batch);
    void take(std::span<const Event> events, size_t index);
    void insert(const Batch& batch, bool keep, bool leave_out, bool with_samples);
    Statement& insertion_of_observed(Rows& rows);
    bool has_many_samples(const Batch& batch);
    void write_samples(const Batch& batch);
    void write_clock(std::span<const ClockPair> pairs);
    void write_rings(const Batch& batch);
    void write_drops(const RingProgress& ring, int64_t seen_ns);
    void write_counts();
    void write_count(const char* key, uint64_t since_opened);

    struct Counts {
        uint64_t annex = 0;
        uint64_t polls = 0;
    };
    Database base;
    Tables tables;
    TimedOperations& timed;
    Translator translator;
    Rollups rollups;
    Room room;
    std::vector<Statement> insertions;
    struct Observed {
        Rows* rows = nullptr;
        std::optional<Statement> insertion;
    };
    std::map<std::string, Observed> observed;  // by table
    std::vector<Starts> starts;
    std::map<uint64_t, Counts> counts;
    std::map<uint64_t, std::array<uint64_t, kDrops>> drops;
    std::map<Key, std::array<uint64_t, 4>> seconds;  // second slots whose launch was still open, by its place
    std::vector<std::pair<int64_t, size_t>> order;
    std::map<std::string, uint64_t, std::less<>> facts_before, facts_written;  // counts in meta
    int64_t synced_ns = 0;

    Statement ring_row = base.prepare("REPLACE INTO ring_commit VALUES (?, ?, ?, ?, ?, ?)");
    Statement clock_row = base.prepare("INSERT OR IGNORE INTO clock VALUES (?, ?, ?)");
    Statement drop_row = base.prepare("REPLACE INTO \"drop\" VALUES (?, ?, ?, ?)");
    Statement fact_row = base.prepare("REPLACE INTO meta VALUES (?, ?)");
};

// By time over all threads: so what made a handle comes before what uses it.
void Store::Parts::translate(const Batch& batch) {
    const auto events = batch.events;
    order.clear();
    timed.start_batch();
    for (size_t i = 0; i < events.size(); ++i) order.emplace_back(events[i].enter_ns, i);
    if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
    for (const auto& [enter_ns, index] : order) take(events, index);
    translator.end_of_batch(batch.watermark_ns);
    for (size_t i = 0; i < starts.size(); ++i) starts[i].place(*tables.all()[i]);
    timed.settle(tables);
    rollups.add(tables);
    rollups.add_device_times(batch.observed);
}

void Store::Parts::take(std::span<const Event> events, size_t index) {
    const Event& event = events[index];
    Counts& count = counts[event.ring_id];
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
        if (with_launch || seconds.size() >= kMostPendingSeconds) return;
        std::copy_n(event.slot.word, 4, seconds[{event.ring_id, event.position - 1}].begin());
        return;
    }
    if (index + 1 < events.size() && follows(events[index + 1]))
        return translator.take(event, events[index + 1].slot.word);
    const auto second = seconds.empty() ? seconds.end() : seconds.find({event.ring_id, event.position});
    if (second == seconds.end()) return translator.take(event, nullptr);
    translator.take(event, second->second.data());
    seconds.erase(second);
}

void Store::Parts::write_drops(const RingProgress& ring, int64_t seen_ns) {
    auto& known = drops[ring.ring_id];
    for (size_t i = 0; i < ring.dropped.size() && i < kDrops; ++i) {
        if (ring.dropped[i] == known[i]) continue;
        known[i] = ring.dropped[i];
        drop_row.bind(1, static_cast<int64_t>(ring.ring_id)).bind(2, std::string_view(kDropReasons[i]));
        drop_row.bind(3, seen_ns).bind(4, static_cast<int64_t>(known[i])).step();
    }
}

void Store::Parts::write_rings(const Batch& batch) {
    for (const RingProgress& ring : batch.rings) {
        const Counts& count = counts[ring.ring_id];
        ring_row.bind(1, static_cast<int64_t>(ring.ring_id)).bind(2, static_cast<int64_t>(ring.next));
        ring.open.empty() ? ring_row.bind(3, kNull) : ring_row.bind(3, ring.open);
        ring_row.bind(4, static_cast<int64_t>(count.annex)).bind(5, static_cast<int64_t>(count.polls));
        ring_row.bind(6, batch.watermark_ns).step();
        write_drops(ring, batch.watermark_ns);
    }
}

void Store::Parts::write_counts() {
    uint64_t moved = 0;
    for (const Starts& table : starts) moved += table.moved();
    write_count("moved_starts", moved);
    for (const auto& [key, times] : translator.left_out()) write_count(key, times);
}

void Store::Parts::write_count(const char* key, uint64_t since_opened) {
    if (since_opened == 0) return;
    const uint64_t all = facts_before[key] + since_opened;
    uint64_t& written = facts_written[key];
    if (all == written) return;
    fact_row.bind(1, std::string_view(key)).bind(2, static_cast<int64_t>(all)).step();
    written = all;
}

// Observers keep their blocks, mostly. What one of them says twice must not keep the events out.
Statement& Store::Parts::insertion_of_observed(Rows& rows) {
    auto& [of, insertion] = observed[rows.table()];
    if (of != &rows) {
        of = &rows;
        insertion.emplace(base.insertion_of(rows, Database::Refused::skip));
    }
    return *insertion;
}

// So many that they would not fit: nothing could be written for long.
bool Store::Parts::has_many_samples(const Batch& batch) {
    size_t rows = batch.clock.size();
    for (const Rows* block : batch.observed) rows += block->count();
    return room.size().is_limited() && rows > room.size().most_slots() / 4;
}

void Store::Parts::write_clock(std::span<const ClockPair> pairs) {
    for (const ClockPair& pair : pairs)
        clock_row.bind(1, pair.mono_ns)
            .bind(2, static_cast<int64_t>(pair.ticks))
            .bind(3, pair.real_ns)
            .step();
}

// In transactions of their own, some at a time. They stand for themselves, and what comes again is skipped;
// what totals they add to is written with the batch.
void Store::Parts::write_samples(const Batch& batch) {
    const size_t some = room.size().most_slots() / 4;
    for (size_t from = 0; from < batch.clock.size(); from += some) {
        room.make(FileSize::kTransactionBytes);
        base.begin(false);
        write_clock(batch.clock.subspan(from, std::min(some, batch.clock.size() - from)));
        base.commit();
    }
    for (Rows* rows : batch.observed) {
        for (size_t from = 0; from < rows->count(); from += some) {
            room.make(FileSize::kTransactionBytes);
            base.begin(false);
            rows->show(from, some);
            insertion_of_observed(*rows).step();
            base.commit();
        }
    }
}

void Store::Parts::insert(const Batch& batch, bool keep, bool leave_out, bool with_samples) {
    const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    const bool durable = now_ns - synced_ns >= kSyncEvery_ns;
    base.begin(durable);
    if (leave_out) room.retention().leave_out(tables);
    room.retention().note(tables, batch.observed, keep);
    room.retention().write();
    const auto blocks = tables.all();
    for (size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i]->count() != 0) insertions[i].step();
    for (Rows* rows : batch.observed) {
        rows->show_all();
        if (with_samples && rows->count() != 0) insertion_of_observed(*rows).step();
    }
    rollups.write();
    write_rings(batch);
    if (with_samples) write_clock(batch.clock);
    write_counts();
    base.commit();
    if (durable) synced_ns = now_ns;
    tables.clear();
    rollups.clear();
}

bool Store::create(const char* path, const TraceIdentity& identity,
                   std::span<const Device> devices) noexcept {
    return without_throwing([&] {
        Database base(path, Database::Open::create);
        base.run("BEGIN");
        for (const char* part : gpushim_schema) base.run(part);
        write_identity(base, identity, devices);
        base.run("COMMIT");
    });
}

Store::Store(std::string path, Role role) : path_(std::move(path)), role_(role) {}
Store::~Store() = default;

bool Store::connect() noexcept {
    return parts_ != nullptr ||
           without_throwing([&] { parts_ = std::make_unique<Parts>(path_, role_, timed_); });
}

Store* Store::open(const char* path, Role role) noexcept {
    std::unique_ptr<Store> made;
    without_throwing([&] { made.reset(new Store(path, role)); });
    return made != nullptr && made->connect() ? made.release() : nullptr;
}

// Like without_throwing; also says why not.
template <class F>
bool Store::attempt(F&& work) noexcept {
    return without_throwing([&] {
        try {
            why_not_ = Drop::full;
            is_intact_ = false;
            work();
        } catch (const NoRoom& e) {
            why_not_ = e.reason;
            is_intact_ = true;
            throw;
        } catch (const DatabaseError& e) {
            if (e.is_busy()) why_not_ = Drop::reader;
            if (e.is_full()) why_not_ = Drop::disk;
            throw;
        }
    });
}

bool Store::write(const Batch& batch) noexcept {
    const int64_t started_ns = clock_ns(CLOCK_MONOTONIC);
    if (started_ns < not_before_ns_) return false;
    bool with_samples = true;
    const bool has_room = connect() && attempt([&] {
                              with_samples = !parts_->has_many_samples(batch);
                              if (!with_samples) parts_->write_samples(batch);
                              if (!parts_->room.make(size_of(batch, with_samples))) leaves_rows_out_ = true;
                          });
    const bool done = has_room && attempt([&] {
                          parts_->translate(batch);
                          parts_->insert(batch, keeps_rows_, leaves_rows_out_, with_samples);
                          timed_.written();
                          events_ += batch.events.size();
                      });
    if (done) leaves_rows_out_ = false;
    if (done) return true;
    if (has_room) leaves_rows_out_ = why_not_ == Drop::disk && parts_->room.size().is_limited();
    if (!is_intact_) parts_.reset();  // rolls back; what is remembered no longer fits the file
    if (role_ == Role::recovery) return false;
    const int64_t failed_ns = clock_ns(CLOCK_MONOTONIC);
    not_before_ns_ = failed_ns + std::max(kTryAgainAfter_ns, kTryAgainTimes * (failed_ns - started_ns));
    return false;
}

Drop Store::why_not() const noexcept { return why_not_; }

size_t Store::most_slots() const noexcept {
    return parts_ == nullptr ? 1024 : parts_->room.size().most_slots();
}

void Store::keep_rows(bool keep) noexcept { keeps_rows_ = keep; }

size_t Store::take_unnamed(std::span<uint64_t> functions) noexcept {
    if (parts_ == nullptr) return 0;
    auto& unnamed = parts_->translator.unnamed();
    const size_t count = std::min(functions.size(), unnamed.size());
    std::copy_n(unnamed.end() - static_cast<long>(count), count, functions.begin());
    unnamed.resize(unnamed.size() - count);
    return count;
}

std::span<const TimedOperation> Store::timed() const noexcept { return timed_.list(); }

uint64_t Store::events() const noexcept { return events_; }
const char* Store::failure() noexcept { return failure_text; }

}  // namespace gpushim::shim
