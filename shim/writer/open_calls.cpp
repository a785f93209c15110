#include "open_calls.h"

#include <unistd.h>

#include <exception>
#include <vector>

#include "../base/entries.h"
#include "../calls/api.h"
#include "../ring/ring_folder.h"
#include "leftovers.h"
#include "recovery.h"

#define EXPORTED __attribute__((visibility("default")))

namespace gpushim::shim {
namespace {

// The file's readings reach further back than those of the rings.
TickMap clock_of(const std::string& path, const std::vector<std::unique_ptr<DeadRing>>& rings) {
    std::vector<ClockPair> pairs = clock_pairs_of(path);
    for (const auto& ring : rings) ring->add_pairs(pairs);
    return tick_map(std::move(pairs));
}

bool tell_open_calls(const std::string& path, gpushim_tell_call* tell, void* to) {
    const auto uuid = uuid_of(path);
    const File user(open_user_folder(kRingRoot, false));
    if (!uuid || !user) return false;
    const File folder(open_trace_folder(user, uuid->data(), false));
    if (!folder || !is_in_use(folder, folder_name_of(*uuid).c_str())) return false;
    const auto rings = open_rings_of(folder, *uuid);
    const TickMap clock = clock_of(path, rings);
    for (const auto& ring : rings)
        if (const auto call = ring->open_call(); call && call->api < kApis)
            tell(to, call->tid, clock.mono_ns(call->enter), api_traits[call->api].base,
                 api_traits[call->api].kind_name);
    return true;
}

}  // namespace
}  // namespace gpushim::shim

using namespace gpushim::shim;

EXPORTED int gpushim_live_traces(gpushim_tell_trace* tell, void* to) {
    try {
        const File user(open_user_folder(kRingRoot, false));
        if (!user) return 0;
        for (const LiveTrace& live : live_traces_in(user)) tell(to, live.pid, live.trace.c_str());
        return 0;
    } catch (const std::exception&) {
        return 1;
    }
}

EXPORTED int gpushim_open_calls(const char* trace, gpushim_tell_call* tell, void* to) {
    try {
        return tell_open_calls(trace, tell, to) ? 0 : 1;
    } catch (const std::exception&) {
        return 1;
    }
}
