// What processes of the box share: device memory that one has allocated and another opens, and events. The
// handles name a file that the exporting process holds open; so it must be alive when its handle is opened,
// as on a GPU. Everything here is used under engine::lock().
#pragma once

#include <cstdint>

#include "objects.h"

namespace gpusim::driver {

// A range opened from another process ends here: its mapping goes.
void unmap_imported(uintptr_t base);

namespace interprocess {

// The event has been recorded: other processes will learn when that point is reached. Nothing to do for
// others.
void recorded(Event& event);

// Makes the event's point that of its last record, whichever process made it.
void refresh(Event& event);

}  // namespace interprocess
}  // namespace gpusim::driver
