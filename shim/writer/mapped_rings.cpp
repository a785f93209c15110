#include "mapped_rings.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

#include "../base/entries.h"

namespace gpushim::shim {
namespace {

enum class Mapped { nothing_at_all, others, rings };

// A thread that has ended has no memory any more, though its process may have.
Mapped mapped_by(int thread, std::string_view ring) {
    const File maps(openat(thread, "maps", O_RDONLY | O_CLOEXEC));
    Mapped mapped = Mapped::nothing_at_all;
    std::string text;  // of a name that two parts share, the beginning is kept
    char part[16 << 10];
    for (ssize_t got; maps && (got = read(maps, part, sizeof part)) > 0;) {
        mapped = Mapped::others;
        text.append(part, static_cast<size_t>(got));
        if (text.find(ring) != std::string::npos) return Mapped::rings;
        if (text.size() >= ring.size()) text.erase(0, text.size() - ring.size() + 1);
    }
    return mapped;
}

}  // namespace

bool has_rings_mapped(int32_t pid, const char* trace_folder) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%d/task", pid);
    const std::string ring = std::string("/") + trace_folder + "/ring-";
    const File process(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!process) return false;
    try {
        for (const std::string& name : names_in(process)) {
            const File thread(openat(process, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            const Mapped mapped = thread ? mapped_by(thread, ring) : Mapped::nothing_at_all;
            if (mapped != Mapped::nothing_at_all) return mapped == Mapped::rings;  // all threads share it
        }
    } catch (const std::system_error&) {  // it has ended meanwhile
    }
    return false;
}

}  // namespace gpushim::shim
