// What tests of the recorder stand on: rings in private memory and a page that says "recording", in this
// process.
#pragma once

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "shim/base/system.h"
#include "shim/ring/recorder.h"
#include "shim/ring/rings.h"
#include "shim/writer/drain.h"

namespace rings {

using namespace gpushim;
using namespace gpushim::shim;

constexpr uint16_t kApi = 7;

// Recording by CLOCK_MONOTONIC, without a writer: the test drains.
class Recording {
  public:
    explicit Recording(size_t max_bytes = kPrivateBudget, const char* folder = nullptr) {
        page_.clock_kind = kMonotonic;
        page_.generation = next_generation_++;
        page_.pid = getpid();
        process_state = &page_;
        RingSettings settings = {};
        settings.max_bytes = max_bytes;
        settings.folder = folder;
        settings.pid = getpid();
        settings.clock_kind = kMonotonic;
        settings.trace_path = "/nowhere/trace.db";
        open_rings(settings);
        page_.doing = kRecording;
    }
    ~Recording() { page_.doing = kOff; }

  private:
    // Threads that are left over from one case look at it in the next.
    static inline ProcessState page_ = {};
    static inline uint32_t next_generation_ = 1;
};

inline Slot* open_event(EventKind kind = EventKind::copy, uint8_t flags = 0) {
    return open_slot(thread_state, kApi, kind, flags);
}

inline void close_event(Slot* slot, uint64_t value = 0) {
    slot->exit = ticks();
    for (uint64_t& word : slot->word) word = value;
    complete_slot(slot);
}

inline bool record(uint64_t value = 0, EventKind kind = EventKind::copy, uint8_t flags = 0) {
    Slot* slot = open_event(kind, flags);
    if (slot != nullptr) close_event(slot, value);
    return slot != nullptr;
}

// A drain whose batches always reach the database.
class Sink {
  public:
    struct Row {
        EventKind kind;
        int32_t thread;
        uint64_t ring_id;
        uint64_t position;
        uint64_t value;
        int64_t enter_ns;
        int64_t exit_ns;
        std::string text;
    };

    void take(bool ending = false) {
        drain_->scan(ending);
        const Batch batch = drain_->batch();
        for (const Event& event : batch.events) keep(event);
        for (const RingProgress& ring : batch.rings)
            for (size_t i = 0; i < kDrops; ++i) dropped_[ring.ring_id][i] = ring.dropped[i];
        watermark_ns = batch.watermark_ns;
        drain_->committed();
    }

    uint64_t dropped(Drop reason) const {
        uint64_t sum = 0;
        for (const auto& [ring, counts] : dropped_) sum += counts[static_cast<size_t>(reason)];
        return sum;
    }
    size_t count(EventKind kind) const {
        return static_cast<size_t>(
            std::count_if(rows.begin(), rows.end(), [=](const Row& r) { return r.kind == kind; }));
    }
    Drain& drain() { return *drain_; }

    std::vector<Row> rows;
    int64_t watermark_ns = 0;

  private:
    void keep(const Event& e) {
        rows.push_back({static_cast<EventKind>(e.slot.kind), e.thread_id, e.ring_id, e.position,
                        e.slot.word[0], e.enter_ns, e.exit_ns, std::string(e.text)});
    }

    // On the heap: it has a place for every ring.
    std::unique_ptr<Drain> drain_ = std::make_unique<Drain>(kMonotonic, read_pair(kMonotonic));
    std::map<uint64_t, std::array<uint64_t, kDrops>> dropped_;
};

}  // namespace rings
