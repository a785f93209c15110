// Who is traced, and on what: the rows that a trace has from its first moment. On the thread that starts
// recording; throws DatabaseError.
#pragma once

#include <span>

#include "database.h"
#include "device.h"
#include "identity.h"

namespace gpushim::shim {

void write_identity(Database& base, const TraceIdentity& who, std::span<const Device> devices);

}  // namespace gpushim::shim
