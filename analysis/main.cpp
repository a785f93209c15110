#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <exception>
#include <new>
#include <span>

#include "command/command.h"
#include "failure.h"
#include "process/library.h"
#include "process/write_signals.h"
#include "sqlite/small_memory.h"
#include "terminal/answer.h"
#include "terminal/stderr_line.h"

namespace gpushim::analysis {

namespace {

// What is closed stays no place to write to: else a file that we open would take its number, and the answer
// would go into it. A program that we start finds it closed, as we did.
void take_closed_ones() {
    int number;
    while ((number = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && number <= STDERR_FILENO) {
    }
    if (number > STDERR_FILENO) close(number);
}

int outcome_of(std::span<char* const> words) {
    try {
        return run_command(words);
    } catch (const Failure& failure) {
        tell_error(failure.what());
        return failure.code_;
    } catch (const std::bad_alloc&) {
        tell_error(
            "out of memory (gpushim takes at most half of the machine's): give it fewer traces at once");
    } catch (const std::exception& error) {
        tell_error(error.what());
    }
    return kIncomplete;
}

}  // namespace

}  // namespace gpushim::analysis

int main(int argc, char** argv) {
    using namespace gpushim::analysis;
    ignore_write_signals();
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);  // or every allocation takes a lock to be counted
    give_sqlite_small_memory();
    if (argc == 2 && argv[1] == kProbe) return kFine;
    take_closed_ones();
    begin_answer();
    return end_answer(outcome_of({argv + 1, argv + argc}));
}
