// How long before the host saw it an anchor's stamp may have been made. The device writes it into the host's
// memory, and now and then it shows some us late: then both looks between which it appeared are after it.
// What an anchor takes longer from its record to its sight than the quickest did, it may have been late.
//
//   record ├──── quickest ────┤                  (an H200: 5.4 us; of many, one is 3 to 4 us late)
//   record ├─────────────stamp ········|look  seen|       ········ at most what exceeds the quickest
//
// The quickest is forgotten slowly: a device may change its pace. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpushim::shim {

class AnchorDelay {
  public:
    int64_t late_ns(int64_t took_ns) const { return std::max<int64_t>(0, took_ns - least_ns_); }
    void saw(int64_t took_ns) {
        const bool is_first = least_ns_ == INT64_MAX;
        least_ns_ = is_first ? took_ns : std::min(took_ns, least_ns_ + late_ns(took_ns) / kSlowly);
    }

  private:
    static constexpr int64_t kSlowly = 64;
    int64_t least_ns_ = INT64_MAX;
};

}  // namespace gpushim::shim
