#include "leftovers.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "../base/entries.h"
#include "../base/file_status.h"
#include "../base/system.h"
#include "../base/time_units.h"
#include "../ring/ring_folder.h"
#include "../ring/ring_format.h"
#include "mapped_rings.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kOldNs = 24 * 3600 * kSecond;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Null: there is none. Ring 0 is made first.
std::unique_ptr<RingHeader> header_in(int folder) {
    char name[kRingNameBytes];
    ring_name(name, 0);
    const File file(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    auto header = std::make_unique<RingHeader>();
    const bool is_whole = file && read(file, header.get(), sizeof *header) == sizeof *header &&
                          header->magic == kRingMagic && header->version == kRingVersion;
    if (!is_whole) return nullptr;
    header->trace_path[sizeof header->trace_path - 1] = '\0';
    return header;
}

int64_t bytes_in(int folder) {
    int64_t bytes = 0;
    struct stat facts;
    for (const std::string& name : names_in(folder)) {
        const File file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (file && status_of(file, &facts) == 0) bytes += facts.st_blocks * 512;
    }
    return bytes;
}

}  // namespace

bool is_written_to(int trace_folder, const char* name) {
    const auto header = header_in(trace_folder);
    return header != nullptr && has_rings_mapped(header->pid, name);
}

bool is_in_use(int trace_folder, const char* name) {
    return is_held(trace_folder) || is_written_to(trace_folder, name);
}

void remove_old_folders(int user_folder, std::string_view own) {
    for (const std::string& name : names_in(user_folder)) {
        if (name == own) continue;
        const File folder(openat(user_folder, name.c_str(), kFolder));
        struct stat facts;
        if (folder && status_of(folder, &facts) == 0 &&
            clock_ns(CLOCK_REALTIME) - nanoseconds(facts.st_mtim) > kOldNs &&
            !is_in_use(folder, name.c_str()))
            remove_trace_folder(user_folder, name.c_str());
    }
}

std::vector<Leftover> leftovers_in(int user_folder, std::string_view own) {
    std::vector<Leftover> all;
    for (const std::string& name : names_in(user_folder)) {
        if (name == own) continue;
        const File folder(openat(user_folder, name.c_str(), kFolder));
        if (!folder || is_in_use(folder, name.c_str())) continue;
        struct stat facts;
        const auto header = header_in(folder);
        if (header == nullptr || status_of(folder, &facts) != 0) continue;
        all.push_back({name, header->trace_path, nanoseconds(facts.st_mtim), bytes_in(folder)});
    }
    std::sort(all.begin(), all.end(),
              [](const Leftover& a, const Leftover& b) { return a.changed_ns < b.changed_ns; });
    return all;
}

std::vector<LiveTrace> live_traces_in(int user_folder) {
    std::vector<LiveTrace> all;
    for (const std::string& name : names_in(user_folder)) {
        const File folder(openat(user_folder, name.c_str(), kFolder));
        const int32_t pid = folder ? holder_of(folder) : 0;
        if (pid == 0 || is_recovered_by_another(folder)) continue;
        if (const auto header = header_in(folder); header != nullptr)
            all.push_back({pid, header->trace_path});
    }
    return all;
}

bool is_recovered_by_another(int trace_folder) {
    const int32_t holder = holder_of(trace_folder);
    const auto header = header_in(trace_folder);
    return holder > 0 && header != nullptr && header->pid != holder;
}

}  // namespace gpushim::shim
