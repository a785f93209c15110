// What a descriptor leads to. Any thread.
#pragma once

#include <cstddef>

namespace gpushim::analysis {

bool is_terminal(int descriptor);     // one that obeys escape sequences: TERM is set, and not dumb
bool has_colours(int descriptor);     // that, and NO_COLOR is unset or empty
size_t columns_of(int descriptor);    // 80 where it does not say
bool is_in_background(int terminal);  // the terminal is somebody else's now: `gpushim … &`, Ctrl-Z and bg

}  // namespace gpushim::analysis
