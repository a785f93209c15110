#include "write_signals.h"

#include <csignal>

namespace gpushim::analysis {

namespace {

struct Ignored {
    int number;
    void (*before)(int);
};
Ignored g_ignored[] = {{SIGPIPE, SIG_DFL}, {SIGXFSZ, SIG_DFL}};

}  // namespace

void ignore_write_signals() {
    for (Ignored& one : g_ignored) one.before = std::signal(one.number, SIG_IGN);
}

void give_back_write_signals() {
    for (const Ignored& one : g_ignored) std::signal(one.number, one.before);
}

}  // namespace gpushim::analysis
