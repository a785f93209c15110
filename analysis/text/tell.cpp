#include "tell.h"

#include <cstdio>

#include "escape.h"

namespace gpushim::analysis {

void tell(const std::string& text) { std::fprintf(stderr, "gpushim: %s\n", for_terminal(text).c_str()); }

}  // namespace gpushim::analysis
