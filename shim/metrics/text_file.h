// A small text file that is written again and again: a reader finds one whole text or another. It is
// written under a name beside it, which then takes its place. Nothing is synced: after a power loss the next
// text comes soon. The writer's thread only; nothing throws.
#pragma once

#include <string_view>

namespace gpushim::shim {

// 0, or errno's number; then the text of before is still there. `mode` whatever the umask says.
int replace_file(const char* path, std::string_view text, unsigned mode);

}  // namespace gpushim::shim
