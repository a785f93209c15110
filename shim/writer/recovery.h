// What one killed process left in its rings goes into its trace, a bounded part with each step. Whoever is
// killed in here has changed nothing, or as much as some transactions hold: ring_commit says from where on
// the rest is missing. Any process but the traced one, also another's writer; one thread; throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../rows/batch.h"
#include "../sqlite/database.h"
#include "../trace/store.h"
#include "dead_ring.h"
#include "recovery_batches.h"

namespace gpushim::shim {

// The identity that a trace has. None: not a trace, or not one yet.
std::optional<std::vector<uint8_t>> uuid_of(const std::string& path);

std::string folder_name_of(std::span<const uint8_t> uuid);

// All that are whole, and the readings of clocks that the file has.
std::vector<std::unique_ptr<DeadRing>> open_rings_of(int folder, std::span<const uint8_t> uuid);
std::vector<ClockPair> clock_pairs_of(const std::string& path);

// The folder of a trace's rings, locked: its process is dead, and nobody else recovers it.
class DeadFolder {
  public:
    // Where another process than the one that died is at it, or that one still has to end, it waits for
    // that, at most so long.
    DeadFolder(std::span<const uint8_t> uuid, int64_t most_ns);
    ~DeadFolder();
    DeadFolder(const DeadFolder&) = delete;
    DeadFolder& operator=(const DeadFolder&) = delete;

    bool is_locked() const { return lock_ >= 0; }
    int descriptor() const { return folder_; }
    void remove();

  private:
    void close_all();
    int user_ = -1, folder_ = -1, lock_ = -1;
    char name_[33];
};

// How a recovery reads clocks: a writer must not wait to tell their pace.
struct ClocksNow {
    std::vector<ClockPair> (*pairs)(uint32_t clock_kind);
};

class Recovery {
  public:
    // Of rings into a file that has their identity. `most_slots`: of one step; 0: as many as the file takes.
    Recovery(const std::string& path, std::span<const uint8_t> uuid, int folder, size_t most_slots,
             ClocksNow clocks);
    // False: nothing is left, and the trace says that it was recovered.
    bool step();

  private:
    void read_rings(const std::string& path, ClocksNow clocks);

    std::string path_;
    std::vector<std::unique_ptr<DeadRing>> rings_;
    std::optional<EventList> events_;
    std::vector<RingEvents> of_rings_;
    std::unique_ptr<Store> store_;
    std::optional<RecoveryBatches> batches_;
};

// Two readings, far enough apart to tell the pace.
std::vector<ClockPair> pairs_of_now(uint32_t clock_kind);

}  // namespace gpushim::shim
