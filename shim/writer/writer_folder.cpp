#include "writer_folder.h"

#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "../base/protection.h"
#include "../program/function_names.h"
#include "../ring/ring_folder.h"
#include "../ring/rings.h"
#include "../timing/captures.h"
#include "../timing/known_nodes.h"
#include "../timing/operation_events.h"
#include "../timing/stream_callers.h"

namespace gpushim::shim {
namespace {

size_t tmpfs_budget() {
    struct statfs facts;
    if (!kept(Protection::rings_in_tmpfs)) return 0;
    if (statfs(kRingRoot, &facts) != 0 || facts.f_type != 0x01021994) return 0;
    return ring_budget(static_cast<uint64_t>(facts.f_blocks) * static_cast<uint64_t>(facts.f_bsize));
}

RingSettings settings_for(const TraceIdentity& identity, const char* trace_path) {
    RingSettings settings = {};
    std::copy_n(identity.trace_uuid, sizeof settings.trace_uuid, settings.trace_uuid);
    std::copy_n(identity.boot_id, sizeof settings.boot_id, settings.boot_id);
    settings.pid = identity.pid;
    settings.clock_kind = identity.clock_kind;
    settings.process_start_ticks = identity.start_ticks;
    settings.trace_path = trace_path;
    return settings;
}

// What the process knew that this one was forked from. At a first start they are empty: to walk them would
// only give them their pages, 200 of them.
void forget_large_tables() {
    forget_wishes();
    forget_nodes();
    forget_stream_callers();
}

}  // namespace

void remove_folder(const WriterFolder& folder, const TraceIdentity& identity) {
    if (folder.user < 0) return;
    char name[33];
    trace_folder_name(name, identity.trace_uuid);
    remove_trace_folder(folder.user, name);
}

void close_folder(WriterFolder& folder) {
    for (int* file : {&folder.trace, &folder.user, &folder.lock})
        if (*file >= 0) close(std::exchange(*file, -1));
}

bool open_folder(WriterFolder& folder, const TraceIdentity& identity) {
    folder.user = open_user_folder(kRingRoot, true);
    if (folder.user < 0) return false;
    folder.trace = open_trace_folder(folder.user, identity.trace_uuid, true);
    // The lock before the rings: from their first moment they belong to somebody who lives.
    if (folder.trace >= 0) folder.lock = lock_trace_folder(folder.trace);
    char name[33];
    trace_folder_name(name, identity.trace_uuid);
    if (folder.lock < 0) {
        // Nothing is in it, unless somebody is.
        unlinkat(folder.user, name, AT_REMOVEDIR);
        return false;
    }
    snprintf(folder.path, sizeof folder.path, "%s/gpushim-%u/%s", kRingRoot, geteuid(), name);
    return true;
}

void make_rings(WriterFolder& folder, TraceIdentity& identity, const char* trace_path) {
    RingSettings settings = settings_for(identity, trace_path);
    settings.max_bytes = tmpfs_budget();
    identity.rings_survive = settings.max_bytes != 0 && open_folder(folder, identity);
    settings.folder = identity.rings_survive ? folder.path : nullptr;
    if (!identity.rings_survive) settings.max_bytes = kPrivateBudget;
    open_rings(settings);
    if (process_state->generation > 1) forget_large_tables();
    forget_device_times();
    forget_captures();
    make_first_ring();
}

}  // namespace gpushim::shim
