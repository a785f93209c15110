// Spans in which operations get events of ours: the slots of the clock (window_slots.h), or the range that
// was asked for (capture_range.h). Tells the hooks through process_state->timing, window_from and
// window_until, and whoever works with device times which spans are over. The writer's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "../machine/device.h"
#include "../rows/observer.h"

namespace gpushim::shim {

struct Window {
    int64_t from_ns;  // CLOCK_MONOTONIC: what was open in fact
    int64_t until_ns;
    int64_t slot;  // number of the 10 s of CLOCK_REALTIME; kNull: a range asked for
    int64_t planned_ns;
    int64_t own_host_ns;    // of the program's threads' time that our events took meanwhile
    int64_t legacy_events;  // events of ours on the legacy stream meanwhile
};

struct WindowSpan {
    int64_t from_ns, until_ns;
};
// That is open or soon will be, or was the last: its end may be a plan, or INT64_MAX. From 0 to 0: none.
WindowSpan newest_window();

// The oldest that is over and was not told yet. False: none.
bool next_closed_window(Window& window);

// Also keeps the rows of `cost`.
std::unique_ptr<Observer> make_windows(std::span<const Device>);

}  // namespace gpushim::shim
