// Which run of this machine's kernel this is. Any thread.
#pragma once

#include <string>

namespace gpushim::analysis {

// As meta.boot_id of a trace has it: without the kernel's hyphens. Empty: the kernel does not say.
std::string boot_id();

}  // namespace gpushim::analysis
