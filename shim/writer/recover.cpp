#include "recover.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../base/entries.h"
#include "../base/file_status.h"
#include "../base/system.h"
#include "../ring/ring_folder.h"
#include "leftovers.h"
#include "recovery.h"

#define EXPORTED __attribute__((visibility("default")))

namespace gpushim::shim {
namespace {

constexpr char kSqliteMagic[] = "SQLite format 3";
constexpr int64_t kWaitForAnotherNs = 2'000'000'000;

// No string: what has failed may be an allocation.
constinit char failure_text[512] = {};

void recover_trace(const std::string& path) {
    const auto uuid = uuid_of(path);
    if (!uuid) return;
    DeadFolder folder(*uuid, kWaitForAnotherNs);
    if (!folder.is_locked()) return;
    for (Recovery recovery(path, *uuid, folder.descriptor(), 0, {pairs_of_now}); recovery.step();) {
    }
    folder.remove();
}

void copy_file(const std::string& from, const std::string& to) {
    const File source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source) return;
    const File target(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!target) throw std::runtime_error(to + ": " + std::strerror(errno));
    char block[65536];
    for (ssize_t size; (size = read(source, block, sizeof block)) > 0;)
        if (write(target, block, static_cast<size_t>(size)) != size)
            throw std::runtime_error(to + ": " + std::strerror(errno));
}

void recover_into_copy(const std::string& path, const std::string& copy) {
    copy_file(path, copy);
    for (const char* beside : {"-wal", "-journal"}) copy_file(path + beside, copy + beside);
    const auto uuid = uuid_of(copy);
    if (!uuid) throw std::runtime_error(path + ": not a trace");
    const DeadFolder folder(*uuid, kWaitForAnotherNs);
    if (!folder.is_locked()) return;
    for (Recovery recovery(copy, *uuid, folder.descriptor(), 0, {pairs_of_now}); recovery.step();) {
    }
}

bool is_database(const std::string& path) {
    const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat facts;
    char start[sizeof kSqliteMagic];
    return file && status_of(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
           read(file, start, sizeof start) == static_cast<ssize_t>(sizeof start) &&
           std::memcmp(start, kSqliteMagic, sizeof start) == 0;
}

// Nobody left anything: then no trace has to be opened to know it.
bool anything_is_left() {
    const File user(open_user_folder(kRingRoot, false));
    return user && !names_in(user).empty();
}

std::vector<std::string> traces_in(const std::string& trace_or_folder) {
    const File folder(open(trace_or_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return {trace_or_folder};
    std::vector<std::string> traces;
    for (const std::string& name : names_in(folder))
        if (name.ends_with(".db")) traces.push_back(trace_or_folder + "/" + name);
    return traces;
}

template <class F>
bool attempt(F&& work) noexcept {
    try {
        work();
        return true;
    } catch (const std::exception& e) {
        std::snprintf(failure_text, sizeof failure_text, "%s", e.what());
    }
    return false;
}

}  // namespace
}  // namespace gpushim::shim

using namespace gpushim::shim;

EXPORTED int gpushim_recover(const char* trace_or_folder) {
    failure_text[0] = '\0';
    bool all = true;
    const bool looked = attempt([&] {
        if (!anything_is_left()) return;
        for (const std::string& trace : traces_in(trace_or_folder))
            if (is_database(trace)) all = attempt([&] { recover_trace(trace); }) && all;
    });
    return looked && all ? 0 : 1;
}

// Nothing is said of what cannot be recovered: nobody has asked for that trace.
EXPORTED int gpushim_recover_leftovers(int most_ms) {
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + most_ms * int64_t{1'000'000};
    bool all = true;
    const bool looked = attempt([&] {
        const File user(open_user_folder(kRingRoot, false));
        if (!user) return;
        remove_old_folders(user, {});
        for (const Leftover& leftover : leftovers_in(user, {})) {
            all = all && clock_ns(CLOCK_MONOTONIC) < until_ns;
            if (!all) return;
            if (is_database(leftover.trace)) attempt([&] { recover_trace(leftover.trace); });
        }
    });
    failure_text[0] = '\0';
    return looked && all ? 0 : 1;
}

EXPORTED int gpushim_recover_copy(const char* trace, const char* copy) {
    failure_text[0] = '\0';
    return attempt([&] { recover_into_copy(trace, copy); }) ? 0 : 1;
}

EXPORTED const char* gpushim_recovery_failure() { return failure_text; }
