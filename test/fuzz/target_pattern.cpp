// Output patterns, and the names in them that others choose: what comes out is one name, within its room, and
// no value leads to another folder.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "shim/writer/trace_path.h"
#include "target.h"

namespace {

using namespace gpushim::shim;

void set(char* to, size_t size, std::string_view text) {
    const size_t length = std::min(text.size(), size - 1);
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
}

// Pattern, host, job and a variable's value, parted by line feeds.
void fill(std::string_view bytes) {
    std::string part[4];
    for (std::string& text : part) {
        const size_t end = std::min(bytes.find('\n'), bytes.size());
        text = std::string(bytes.substr(0, end)).c_str();
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    static TraceIdentity identity = {};
    set(identity.host, sizeof identity.host, part[1]);
    set(identity.job, sizeof identity.job, part[2]);
    identity.pid = 4711;
    identity.rank = static_cast<int64_t>(part[1].size()) - 3;
    identity.local_rank = -1;
    setenv("FUZZED", part[3].c_str(), 1);
    constexpr size_t kRoom = 96;
    char name[kRoom + 16];
    std::memset(name, 'Z', sizeof name);
    const bool fits = fill_pattern(part[0].c_str(), identity, name, kRoom);
    fuzz::require(std::all_of(name + kRoom, name + sizeof name, [](char c) { return c == 'Z'; }),
                  "written behind its room");
    fuzz::require(std::memchr(name, 0, kRoom) != nullptr, "a name without an end");
    const auto slashes = [](std::string_view text) { return std::count(text.begin(), text.end(), '/'); };
    if (fits) fuzz::require(slashes(name) <= slashes(part[0]), "a value that leads to another folder");
}

const fuzz::Registration kTarget({"pattern", "output patterns", fill});

}  // namespace
