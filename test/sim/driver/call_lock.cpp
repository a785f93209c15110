#include "call_lock.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "engine/knobs.h"

namespace gpusim::driver {
namespace {

struct Lock {
    std::mutex mutex;
    Ns free_from = 0;        // real time
    std::set<Ns> recorders;  // stepped time: when a recorder's thread took it, as far as it is not over
};

Lock& the_lock() {
    static Lock* const made = new Lock;
    return *made;
}

Ns start_of(Lock& lock, Ns now, Ns length) {
    if (!clock::stepped()) return std::max(now, lock.free_from);
    if (clock::beside_program()) return now;
    auto& taken = lock.recorders;
    taken.erase(taken.begin(), taken.upper_bound(now - length));
    return !taken.empty() && *taken.begin() <= now ? *taken.begin() + length : now;
}

}  // namespace

Ns pass_lock(Ns now) {
    const Ns length = knobs().lock_ns;
    if (length == 0) return now;
    Ns until;
    {
        Lock& lock = the_lock();
        const std::lock_guard guard(lock.mutex);
        const Ns start = start_of(lock, now, length);
        until = lock.free_from = start + length;
        if (clock::beside_program()) lock.recorders.insert(start);
    }
    clock::work_until(until);
    return until;
}

}  // namespace gpusim::driver
