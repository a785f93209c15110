#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace gpushim::analysis {

namespace {

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

}  // namespace

bool is_terminal(int descriptor) {
    return isatty(descriptor) != 0 && !variable("TERM").empty() && variable("TERM") != "dumb";
}

bool has_colours(int descriptor) { return variable("NO_COLOR").empty() && is_terminal(descriptor); }

size_t columns_of(int descriptor) {
    constexpr size_t kUsual = 80;
    winsize size = {};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

bool is_in_background(int terminal) {
    const pid_t front = tcgetpgrp(terminal);  // -1: it controls nobody's jobs
    return front > 0 && front != getpgrp();
}

}  // namespace gpushim::analysis
