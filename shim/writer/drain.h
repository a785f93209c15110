// Out of the rings into a batch: what is complete, what turns out to be unfinished, and what is still open,
// with its place remembered. Events stay here until they are in the database; only then are their slots free
// for the program. The writer's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../ring/clock.h"
#include "../ring/rings.h"
#include "../rows/batch.h"
#include "../rows/tick_map.h"

namespace gpushim::shim {

// How far everything is known. A thread may lose the processor between taking its time and publishing its
// slot, so it stays behind by a while.
class Watermark {
  public:
    // A scan that took everything there was began at that time of the trace's clock; `now_ns` is real time.
    void scanned(int64_t started_ns, int64_t now_ns) {
        if (now_ns - settling_since_ns_ < kSettleNs) return;
        ns_ = settling_ns_;
        settling_ns_ = started_ns;
        settling_since_ns_ = now_ns;
    }
    void ends(int64_t ns) { ns_ = ns; }
    int64_t ns() const { return ns_; }

  private:
    static constexpr int64_t kSettleNs = 20'000'000;
    int64_t ns_ = 0;
    int64_t settling_ns_ = 0;
    int64_t settling_since_ns_ = 0;
};

// Readings of the clocks that are to be stored: one a tenth of a second, all are there for recovery. Where
// nothing can be written for minutes every second one of those that wait will do.
class KeptPairs {
  public:
    static constexpr size_t kMost = 4096;
    void add(const ClockPair& pair);
    const std::vector<ClockPair>& all() const { return pairs_; }
    void clear() { pairs_.clear(); }

  private:
    static constexpr int64_t kEveryNs = 100'000'000;
    std::vector<ClockPair> pairs_;
    int64_t last_ns_ = INT64_MIN / 2;
};

class Drain {
  public:
    static constexpr size_t kMostEvents = 32768;

    Drain(ClockKind clock, const ClockPair& first);

    // Of how many slots a batch is made at most.
    void take_at_most(size_t slots) { most_ = slots < kMostEvents ? slots : kMostEvents; }

    // Takes what the rings have. `ending`: the process exits; who is still in a call never comes out of it.
    void scan(bool ending);

    // Everything since the last committed(). Valid until the next call of anything here.
    Batch batch();
    // The batch is in the database.
    void committed();

    bool has_timed() const;  // an operation that got events of ours
    bool has_news() const { return count_ != 0 || changed_; }
    bool is_full() const { return count_ >= most_; }
    bool is_cut_short() const { return cut_short_; }  // the rings have more, for which there was no place
    size_t events() const { return count_; }
    double fullest() const { return fullest_; }  // share of the slots in use, of the fullest ring

  private:
    static constexpr int64_t kNotMapped = INT64_MIN;
    static_assert(std::is_trivially_destructible_v<Event>);
    struct FreeRoom {
        void operator()(void* room) const { ::operator delete(room); }
    };

    struct Open {
        uint64_t position;
        uint32_t thread;
        uint8_t flags;
        bool over;       // its thread has gone on without it
        bool is_mapped;  // enter_ns is known
        int64_t enter_ns;
    };
    struct Cursor {
        uint64_t ring_id = UINT64_MAX;
        uint64_t next = 0;
        uint32_t thread = 0;
        std::vector<Open> open;
        std::vector<uint64_t> open_positions;
        uint64_t dropped[kDrops] = {};
        bool changed = false;
    };

    void find_rings();
    uint64_t begun(const Ring& ring, uint64_t until);
    uint64_t begun(uint64_t until);
    void share_out();
    void scan_ring(Ring& ring, bool ending);
    void scan_slots(const Ring& ring, Cursor& cursor);
    void settle_open(const Ring& ring, Cursor& cursor, bool all_over);
    void emit(const Ring& ring, const Open& from, bool finished);
    std::string_view text_after(const Ring& ring, uint64_t position, uint64_t length);
    void note_drops(const RingHeader& header, Cursor& cursor);
    void note_counts_of_hooks();
    void map_times();
    static void put_anchor(RingHeader& header, const ClockPair& pair);
    void report(const RingHeader& header, Cursor& cursor);
    Cursor& cursor_of(const Ring& ring);

    ClockKind clock_;
    TickMap map_;
    Watermark watermark_;
    // Raw memory: of all of it only what was used costs a page.
    std::unique_ptr<Event, FreeRoom> events_;
    size_t most_ = kMostEvents;
    size_t count_ = 0;
    size_t mapped_ = 0;
    bool changed_ = false;
    uint64_t unknown_abi_ = 0, programmatic_ = 0, measured_ = 0;
    uint64_t until_ = 0;      // ticks: what begins later comes with the next scan
    bool cut_short_ = false;  // events are left in the rings because there was no place for them
    double fullest_ = 0;
    std::deque<std::string> texts_;
    KeptPairs pairs_;
    std::vector<RingProgress> progress_;
    std::vector<Ring*> order_;    // those in use, the older of a thread's before the newer
    std::deque<Cursor> cursors_;  // by place of the ring
    Cursor process_cursor_;
};

}  // namespace gpushim::shim
