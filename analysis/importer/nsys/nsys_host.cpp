#include "nsys_host.h"

#include <algorithm>
#include <map>

#include "nsys_table.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kShortestNs = 50'000;  // as our own gaps

struct OsCall {
    std::string_view begins, blocked_on;
};
// In order: the first that the name begins with. What comes back at once is too short to count.
constexpr OsCall kOsCalls[] = {
    {"poll", "waiting_for_descriptor"},
    {"ppoll", "waiting_for_descriptor"},
    {"select", "waiting_for_descriptor"},
    {"pselect", "waiting_for_descriptor"},
    {"epoll_", "waiting_for_descriptor"},
    {"accept", "waiting_for_descriptor"},
    {"pthread_cond_", "waiting_for_lock"},
    {"pthread_mutex_", "waiting_for_lock"},
    {"pthread_rwlock_", "waiting_for_lock"},
    {"pthread_join", "waiting_for_lock"},
    {"pthread_barrier_", "waiting_for_lock"},
    {"sem_", "waiting_for_lock"},
    {"futex", "waiting_for_lock"},
    {"flock", "waiting_for_lock"},
    {"usleep", "sleeping"},
    {"sleep", "sleeping"},
    {"nanosleep", "sleeping"},
    {"clock_nanosleep", "sleeping"},
    {"read", "reading"},
    {"pread", "reading"},
    {"fread", "reading"},
    {"recv", "reading"},
    {"fsync", "disk"},
    {"fdatasync", "disk"},
    {"msync", "disk"},
    {"sync", "disk"},
    {"wait", "child"},
};

}  // namespace

std::string_view blocked_on_in(std::string_view function) {
    for (const OsCall& call : kOsCalls)
        if (function.starts_with(call.begins)) return call.blocked_on;
    return {};
}

// Of --trace=mpi: by what the calls do; of each kind its own table.
void read_messages(const Database& base, const WriterOfThread& writer) {
    for (const char* table :
         {"MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS"}) {
        NsysTable rows(base, table, {"start", "end", "globalTid"});
        while (rows.step()) {
            if (!rows.maybe(1) || !rows.maybe(2)) continue;
            if (TraceWriter* const to = writer(rows.number(2)))
                to->inside({HostInside::messages}, rows.number(0), rows.number(1) - rows.number(0),
                           rows.number(2) & kIdMask);
        }
    }
}

void read_os_calls(const Database& base, const WriterOfThread& writer) {
    NsysTable rows(base, "OSRT_API", {"start", "end", "globalTid", "#nameId"});
    while (rows.step()) {
        if (!rows.maybe(1) || !rows.maybe(2) || rows.number(1) - rows.number(0) < kShortestNs) continue;
        const std::string name = rows.text(3);
        const std::string_view blocked_on = blocked_on_in(name);
        TraceWriter* const to = blocked_on.empty() ? nullptr : writer(rows.number(2));
        if (to == nullptr) continue;
        ImportedGap gap = {};
        gap.start_ns = rows.number(0);
        gap.duration_ns = rows.number(1) - rows.number(0);
        gap.thread = rows.number(2) & kIdMask;
        gap.running_ns = 0;
        gap.blocked_on = blocked_on;
        to->gap(gap);
    }
}

// On a processor from one event on, off it from the next. Where a thread went first is not told.
void read_scheduling(const Database& base, const WriterOfThread& writer) {
    struct Since {
        int64_t from_ns;
        bool runs;
    };
    std::map<int64_t, Since> threads;
    NsysTable rows(base, "SCHED_EVENTS", {"start", "globalTid", "isSchedIn"});
    while (rows.step()) {
        if (!rows.maybe(1) || !rows.maybe(2)) continue;
        const int64_t at_ns = rows.number(0), thread = rows.number(1);
        TraceWriter* const to = writer(thread);
        if (to == nullptr) continue;
        const bool runs = rows.number(2) != 0;
        const auto [since, is_first] = threads.try_emplace(thread, Since{at_ns, runs});
        const int64_t length_ns = at_ns - since->second.from_ns;
        // Two alike in a row: one between them is lost.
        if (!is_first && since->second.runs != runs && length_ns >= kShortestNs) {
            ImportedGap gap = {};
            gap.start_ns = since->second.from_ns;
            gap.duration_ns = length_ns;
            gap.thread = thread & kIdMask;
            gap.running_ns = since->second.runs ? length_ns : 0;
            to->gap(gap);
        }
        since->second = {at_ns, runs};
    }
}

}  // namespace gpushim::analysis
