#include "tell.h"

#include <unistd.h>

#include <cstdio>

#include "../terminal/progress.h"
#include "../terminal/style.h"
#include "../terminal/terminal.h"
#include "escape.h"
#include "redact.h"

namespace gpushim::analysis {

namespace {

void tell_as(Style style, const std::string& text) {
    const BesideProgress room;
    const std::string name = has_colours(STDERR_FILENO) ? styled(style, "gpushim:") : "gpushim:";
    std::fprintf(stderr, "%s %s\n", name.c_str(), for_terminal(without_hidden_names(text)).c_str());
}

}  // namespace

void tell(const std::string& text) { tell_as(Style::warning, text); }

void tell_error(const std::string& text) { tell_as(Style::trouble, text); }

}  // namespace gpushim::analysis
