// Memory by address and time: what kind of memory was there when a copy touched it, and how much of each kind
// and of each pool is held and was at most. As with handles, an address means one allocation after another,
// and questions carry their time. What no range covers is ordinary (pageable) memory of the program. The
// writer's thread only.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "../sqlite/database.h"

namespace gpushim::shim {

enum class Memory : uint8_t { unknown, pageable, pinned, managed, device, array };  // as in copy.sides

struct AddressRange {
    uint64_t bytes;
    int64_t enter_ns;  // of the call that made it …
    int64_t since_ns;  // … and when it returned
    int64_t died_ns;
    Memory memory;
    bool counted;      // its bytes are held; else it only says what kind of memory is at these addresses
    uint32_t context;  // 0: not known
    int64_t device;    // kNull: not known
    int64_t pool_id;
};

struct HeldOf {  // all of a kind in a context; or of a pool, whatever its context
    uint32_t context;
    Memory memory;
    int64_t pool_id;  // 0: none
    auto operator<=>(const HeldOf&) const = default;
};

struct Peak {
    int64_t bytes = 0;
    int64_t reached_ns = 0;
};

// How far a row may stand behind its event (unique_starts.h), as far as is looked.
constexpr int64_t kMostMovedNs = 64;

class AddressRanges {
  public:
    void born(uint64_t address, const AddressRange& range);
    // The range that ends; null: not known. Valid until the next call of born or forget_before.
    const AddressRange* died(uint64_t address, int64_t time_ns);
    const AddressRange* find(uint64_t address, int64_t time_ns) const;
    int64_t held_bytes(Memory memory, uint32_t context) const;
    void forget_before(int64_t time_ns);

    const std::map<HeldOf, Peak>& peaks() const { return peaks_; }
    void set_peak(const HeldOf& of, const Peak& peak) { peaks_[of] = peak; }
    // Whose peak has become higher since the last time.
    std::set<HeldOf> take_raised() { return std::exchange(raised_, {}); }

  private:
    void count(const AddressRange& range, int64_t sign);
    void add(const HeldOf& of, int64_t bytes, int64_t time_ns);

    std::multimap<uint64_t, AddressRange> ranges_;  // of one address the younger last
    std::map<HeldOf, int64_t> held_bytes_;
    std::map<HeldOf, Peak> peaks_;
    std::set<HeldOf> raised_;
    std::deque<std::pair<int64_t, uint64_t>> ended_;  // when, and where
};

}  // namespace gpushim::shim
