#include "truth.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "knobs.h"

namespace gpusim {

struct TruthRecord {
    const char* op = "";
    const char* name = "";
    int device = 0;
    uint64_t stream = 0;
    int64_t bytes = 0;
    Ns start_ns = 0, end_ns = 0;
    Ns enter_ns = 0, exit_ns = 0;
    bool known = false;
    bool returned = false;
    // While the call that issued it runs: a list through the records, newest first, that keeps them alive.
    // Not a thread-local container: programs call the driver after their thread's objects are destroyed.
    std::shared_ptr<TruthRecord> itself;
    TruthRecord* issued_before = nullptr;
    bool complete() const { return known && returned; }
};

namespace truth {
namespace {

using Record = std::shared_ptr<TruthRecord>;
constexpr size_t kMaxNames = 1024;

struct File {
    std::mutex mutex;
    int fd = -1;
    std::string path;
    std::deque<Record> in_order;  // stepped mode: lines that wait for an earlier one
    Count* counts = nullptr;
    size_t count_names = 0;
};

struct Call {
    Ns enter_ns = 0;
    TruthRecord* newest = nullptr;
};
thread_local Call current_call;

// The records of the call, oldest first; the call has none any more.
std::vector<Record> take_issued() {
    std::vector<Record> records;
    for (TruthRecord* r = std::exchange(current_call.newest, nullptr); r != nullptr; r = r->issued_before)
        records.push_back(std::move(r->itself));
    std::reverse(records.begin(), records.end());
    return records;
}

[[noreturn]] void give_up(const std::string& path) {
    std::perror(("gpusim: GPUSIM_TRUTH: " + path).c_str());
    std::_Exit(2);
}

// A file of its own, not the old one cut short: another process that was given the same path has that mapped,
// and would end by SIGBUS.
int open_anew(const char* path) {
    int fd = -1;
    do {
        unlink(path);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

Count* map_counts(const std::string& path) {
    constexpr size_t size = sizeof(Count) * kMaxNames;
    int fd = -1;
    if (!path.empty()) {
        fd = open_anew(path.c_str());
        if (fd < 0 || ftruncate(fd, size) != 0) give_up(path);
    }
    const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED) give_up(path);
    if (fd >= 0) close(fd);
    return static_cast<Count*>(at);
}

File* open_file() {
    auto* file = new File;  // used until the last instruction of the process
    const std::string path = expand_pattern(knobs().truth);
    file->counts = map_counts(path.empty() ? path : path + ".counts");
    if (path.empty()) return file;
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) give_up(path);
    file->path = std::filesystem::absolute(path);
    // High, where programs that use or close low descriptor numbers do not meet it.
    file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 500);
    if (file->fd < 0)
        file->fd = fd;
    else
        close(fd);
    return file;
}

File& file() {
    static File* const opened = open_file();
    return *opened;
}

bool wanted() { return file().fd >= 0; }

// A recorder's thread may have a table of descriptors of its own, in which the file is not open.
bool write_elsewhere(const char* line, size_t length) {
    const int fd = open(file().path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const bool written = fd >= 0 && syscall(SYS_write, fd, line, length) == static_cast<ssize_t>(length);
    if (fd >= 0) close(fd);
    return written;
}

void write_line(const TruthRecord& r) {
    char line[4400];  // mangled names reach 4 KiB
    const int length = std::snprintf(
        line, sizeof line,
        "%s\t%d\t%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%.4096s\t%" PRId64 "\t%" PRId64 "\n",
        r.op, r.device, r.stream, r.start_ns, r.end_ns, r.bytes, r.name, r.enter_ns, r.exit_ns);
    // Not write(): that is where a thread that is being cancelled would end, with the line unwritten.
    const auto size = static_cast<size_t>(length);
    if (syscall(SYS_write, file().fd, line, size) == length) return;
    if (errno != EBADF || !write_elsewhere(line, size)) give_up("write");
}

// With the file's lock held.
void advance(const TruthRecord& changed) {
    if (!clock::stepped()) {
        if (changed.complete()) write_line(changed);
        return;
    }
    auto& waiting = file().in_order;
    for (; !waiting.empty() && waiting.front()->complete(); waiting.pop_front()) write_line(*waiting.front());
}

}  // namespace

Count* count(const char* name) {
    File& f = file();
    const std::lock_guard guard(f.mutex);
    for (size_t i = 0; i < f.count_names; ++i)
        if (std::strncmp(f.counts[i].name, name, sizeof f.counts[i].name) == 0) return &f.counts[i];
    if (f.count_names == kMaxNames) give_up("more names than records");
    Count* made = &f.counts[f.count_names++];
    std::strncpy(made->name, name, sizeof made->name - 1);
    return made;
}

void begin_call(Ns enter_ns) { current_call.enter_ns = enter_ns; }

void end_call(Ns exit_ns) {
    if (current_call.newest == nullptr) return;
    const std::lock_guard guard(file().mutex);
    for (const Record& record : take_issued()) {
        record->exit_ns = exit_ns;
        record->returned = true;
        advance(*record);
    }
}

void issued(Operation& op) {
    if (!wanted()) return;
    op.truth = std::make_shared<TruthRecord>();
    op.truth->enter_ns = current_call.enter_ns;
    op.truth->itself = op.truth;
    op.truth->issued_before = std::exchange(current_call.newest, op.truth.get());
    if (!clock::stepped()) return;
    const std::lock_guard guard(file().mutex);
    file().in_order.push_back(op.truth);
}

void known(const Operation& op) {
    if (op.truth == nullptr) return;
    const std::lock_guard guard(file().mutex);
    TruthRecord& r = *op.truth;
    r.op = op.op, r.name = *op.name != '\0' ? op.name : "-", r.device = op.device, r.stream = op.stream;
    r.bytes = op.bytes, r.start_ns = op.start_ns, r.end_ns = op.end_ns, r.known = true;
    advance(r);
}

}  // namespace truth
}  // namespace gpusim
