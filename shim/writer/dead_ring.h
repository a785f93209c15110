// The rings that a process left behind when it was killed, read as the writer would have read them: what is
// complete becomes events, what was open becomes unfinished ones. Of a process that lives: what its threads
// are inside of. Nothing is written to. Any process, one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "../rows/batch.h"
#include "../rows/tick_map.h"

namespace gpushim::shim {

// Events cannot be moved: room for all is made at once.
class EventList {
  public:
    explicit EventList(size_t most) : events_(std::make_unique<Event[]>(most)), most_(most) {}
    Event& add() {
        if (count_ == most_) throw std::length_error("a ring holds more than it held");
        return events_[count_++];
    }
    std::span<Event> all() { return {events_.get(), count_}; }

  private:
    std::unique_ptr<Event[]> events_;
    size_t most_, count_ = 0;
};

struct OpenSlot {
    uint64_t enter;  // ticks
    int32_t tid;
    uint16_t api;
};

class DeadRing {
  public:
    // Null: no ring, or not of that trace, or not whole. Throws where it cannot be read.
    static std::unique_ptr<DeadRing> open(int folder, const char* name, const uint8_t (&trace_uuid)[16]);
    ~DeadRing();
    DeadRing(const DeadRing&) = delete;
    DeadRing& operator=(const DeadRing&) = delete;

    const RingHeader& header() const { return *header_; }
    void add_pairs(std::vector<ClockPair>& pairs) const;

    // How many events the database does not have at most. What comes into the ring after this is not read.
    size_t most_events(const Committed& committed);
    // Appends them. Texts stay valid as long as the ring; times are ticks until
    // mapped. How many of them the database has seen open.
    size_t read(const Committed& committed, EventList& events);
    // The call that the ring's thread is inside of, the outermost one; it may have returned meanwhile.
    std::optional<OpenSlot> open_call() const;
    RingProgress progress() const { return {header_->ring_id, next_, {}, dropped_}; }

  private:
    DeadRing(const RingHeader* header, size_t size_bytes);
    const Slot& slot_at(uint64_t position) const { return slots_[position & (header_->slot_count - 1)]; }
    bool is_text(uint64_t position) const;
    bool is_used(uint64_t position) const;
    void add(uint64_t position, EventList& events);
    std::string_view text_after(uint64_t position, uint64_t most_bytes);

    const RingHeader* header_;
    const Slot* slots_;
    size_t size_bytes_;
    uint64_t next_ = 0, end_ = 0;
    std::vector<uint64_t> dropped_;
    std::deque<std::string> texts_;
};

// Of readings in any order.
TickMap tick_map(std::vector<ClockPair> pairs);

// Times instead of ticks. Where the rings have no two pairs, `pairs` must have them.
void map_times(std::span<Event> events, std::vector<ClockPair> pairs);

}  // namespace gpushim::shim
