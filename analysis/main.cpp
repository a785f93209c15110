#include <sqlite3.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "command/command.h"
#include "failure.h"
#include "process/library.h"
#include "text/tell.h"

int main(int argc, char** argv) {
    using namespace gpushim::analysis;
    signal(SIGPIPE, SIG_IGN);  // `gpushim … | head` ends with a failed write, not with a signal
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);  // or every allocation takes a lock to be counted
    try {
        if (argc == 2 && argv[1] == kProbe) return kFine;
        const int code = run_command({argv + 1, argv + argc});
        return std::fflush(stdout) == 0 || code != kFine ? code : kIncomplete;
    } catch (const Failure& failure) {
        std::fflush(stdout);
        tell_error(failure.what());
        return failure.code_;
    } catch (const std::bad_alloc&) {
        std::fflush(stdout);
        tell_error(
            "it takes more memory than there is for it (half of the machine's): give it fewer traces at "
            "once");
        return kIncomplete;
    } catch (const std::exception& error) {
        std::fflush(stdout);
        tell_error(error.what());
        return kIncomplete;
    }
}
