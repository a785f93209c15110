// On which device a thread was when it made a call, from the events that were stored: contexts that were
// made, and made current. Bounded: the first kMostContexts of either. The writer's thread only.
#pragma once

#include <cstdint>
#include <map>

#include "../rows/batch.h"

namespace gpushim::shim {

class ContextDevices {
  public:
    static constexpr size_t kMostContexts = 1024;

    // Each event, in order of its thread.
    void take(const Event& event);
    // The ordinal; -1: not known.
    int64_t device_of(const Event& event) const;

  private:
    void note(std::map<uint64_t, int64_t>& devices, uint64_t which, int64_t device);

    std::map<uint64_t, int64_t> of_handle_, of_number_;  // as the driver and as slots name them
};

}  // namespace gpushim::shim
