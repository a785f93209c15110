// Looks at threads that have made no call for a while: what are they doing (proc_thread.h)? What it sees goes
// into host_samples.h. It takes at most Allowance::kShare of a processor, so of many blocked threads each is
// seen less often. In stepped time /proc tells nothing true: nobody is looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "../rows/observer.h"
#include "allowance.h"
#include "device.h"

namespace gpushim::shim {

// When the next look at a thread is due that was `age_ns` without a call at the last: the rarer, the longer.
constexpr int64_t kFirstLookNs = 2'000'000;
constexpr int64_t kLooksApartNs = 5'000'000;
constexpr int64_t next_look_ns(int64_t age_ns) {
    return age_ns + (age_ns / 8 > kLooksApartNs ? age_ns / 8 : kLooksApartNs);
}

std::unique_ptr<Observer> make_host_sampler(std::span<const Device>);

}  // namespace gpushim::shim
