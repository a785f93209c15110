// Who is traced, and on what: the rows that a trace has from its first moment. On the thread that starts
// recording; throws DatabaseError.
#pragma once

#include <span>

#include "../machine/device.h"
#include "../machine/identity.h"
#include "../sqlite/database.h"

namespace gpushim::shim {

void write_identity(Database& base, const TraceIdentity& who, std::span<const Device> devices);

}  // namespace gpushim::shim
