#include "last_words.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "../base/config.h"
#include "../base/file_status.h"
#include "../base/log.h"
#include "../base/run_notes.h"

namespace gpushim::shim {
namespace {

constexpr double kMegabyte = 1e6;
// Where we are not loaded we cannot speak: who started that program does.
constexpr const char* kNoContext =
    "made no CUDA context. Usually it makes no CUDA call, or starts what makes them where this library is "
    "not loaded: a static program, another interpreter, sudo, env -i, a container";

double size_mb(const char* path) {
    struct stat facts;
    return status_of(path, &facts) == 0 ? static_cast<double>(facts.st_size) / kMegabyte : 0;
}

}  // namespace

void say_where_the_trace_is(const char* path) {
    if (config.log < LogLevel::info || is_noted()) return;
    const auto folder = static_cast<int>(strrchr(path, '/') - path);
    log_line(LogLevel::info, "1 trace: %s (%.1f MB); next: gpushim report %.*s/", path, size_mb(path), folder,
             path);
}

bool wants_last_words() {
    const char* level = getenv("GPUSHIM_LOG");
    Config asked = default_config();
    return level != nullptr && understand(asked, "GPUSHIM_LOG", level) && asked.log >= LogLevel::info;
}

void say_that_nothing_was_traced(bool driver_was_used) {
    if (is_noted()) return;
    config.log = LogLevel::info;
    log_line(LogLevel::info, "nothing was traced in %s (process %d): it %s; `gpushim doctor` says more",
             program_invocation_short_name, static_cast<int>(getpid()),
             driver_was_used ? "initialised CUDA and made no context" : kNoContext);
}

}  // namespace gpushim::shim
