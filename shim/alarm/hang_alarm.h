// The hang alarm: where no operation came for much longer than usual while calls are open (silence.h), it
// says so in one line on stderr, in the tables hang and hang_thread, and to the command of GPUSHIM_ON_HANG,
// which is run once. Only the writer works for it: once a second it reads a few words of each ring.
#pragma once

#include <memory>
#include <span>

#include "../machine/device.h"
#include "../machine/identity.h"
#include "../rows/observer.h"

namespace gpushim::shim {

// Whose process it is. Before observers are made; both outlive them.
void alarm_speaks_for(const TraceIdentity& identity, const char* trace_path);

// Null: GPUSHIM_HANG_AFTER=0.
std::unique_ptr<Observer> make_hang_alarm(std::span<const Device> devices);

// It was said, and not yet that it goes on. The writer's thread only.
bool process_hangs();

}  // namespace gpushim::shim
