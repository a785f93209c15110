#include "tell.h"

#include <cstdio>

#include "escape.h"
#include "redact.h"

namespace gpushim::analysis {

void tell(const std::string& text) {
    std::fprintf(stderr, "gpushim: %s\n", for_terminal(without_hidden_names(text)).c_str());
}

}  // namespace gpushim::analysis
