// The ring's protocol in every order: a thread that records (and a signal handler of it that does so, too)
// beside the writer, and a kill at every point, behind which the recovery reads what is left. The recorder,
// the rings, the drain and the recovery are the real ones; a ring has a few slots, and time stands still.
// Promised: what was recorded is in the database or in the ring exactly once, whole; what was not is counted.
//
//   ring_model            the short scenes, and ways to break the protocol, each of which has to be found
//   ring_model all        the long ones, too
//   ring_model NAME       those with that in their names
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <vector>

#include "explore.h"
#include "shim/hooks/in_call.h"
#include "shim/ring/recorder.h"
#include "shim/ring/ring_folder.h"
#include "shim/ring/rings.h"
#include "shim/writer/dead_ring.h"
#include "shim/writer/drain.h"

namespace {

using namespace gpushim;
using namespace gpushim::shim;

constexpr uint16_t kApi = 7;
constexpr uint32_t kMostSlots = 4;
constexpr uint64_t kSignal = 100;  // values of the handler's events

// A way to break the protocol; what keeps to it breaks nothing.
enum class Broken { nothing, early_mark, relaxed_mark, blind_reuse, early_free, no_guard };
Broken broken = Broken::nothing;
// Of the scene: slots of the ring, calls of the program, looks of the writer.
uint32_t slots = kMostSlots;
int calls = 0, scans = 0;

// What the program knows and what the database has; both survive a kill.
struct Known {
    std::set<uint64_t> recorded, begun;  // values of calls that have returned; of those that were entered
    uint64_t dropped = 0, passed = 0;
    std::vector<std::pair<uint64_t, bool>> rows;  // value, whole
    Committed committed;
    uint64_t committed_drops = 0;
};
Known* known = nullptr;
Drain* drain = nullptr;

// --- the program ---------------------------------------------------------------------------------------

void fill(Slot* slot, uint64_t value) {
    slot->exit = slot->enter;
    for (uint64_t& word : slot->word) word = value;
}

void close_event(Slot* slot, uint64_t value) {
    if (broken == Broken::early_mark) {
        complete_slot(slot);
        fill(slot, value);
    } else if (broken == Broken::relaxed_mark) {
        fill(slot, value);
        slot->mark.store(slot->mark.load(std::memory_order_relaxed) | 1, std::memory_order_relaxed);
    } else {
        fill(slot, value);
        complete_slot(slot);
    }
}

// As a thunk does it (hooks/thunk.h).
void call(uint64_t value) {
    ThreadState& thread = thread_state;
    InCall here;
    if (const void* before = thread.cuda_frame; before != nullptr && broken != Broken::no_guard)
        if (inside_live(before, &here)) {
            ++known->passed;
            return;
        }
    enter(here);
    thread.cuda_frame = &here;
    known->begun.insert(value);
    if (broken == Broken::blind_reuse)
        thread.ring->cached_tail.store(thread.ring->head.load(std::memory_order_relaxed),
                                       std::memory_order_relaxed);
    Slot* slot = open_slot(thread, kApi, EventKind::copy, 0);
    if (slot != nullptr) {
        close_event(slot, value);
        known->recorded.insert(value);
    } else {
        ++known->dropped;
    }
    thread.cuda_frame = nullptr;
}

void program() {
    for (int i = 1; i <= calls; ++i) call(static_cast<uint64_t>(i));
}

void handler() { call(kSignal); }

// --- the writer ----------------------------------------------------------------------------------------

// The transaction is one assignment: all of it or nothing.
void take(bool ending) {
    drain->scan(ending);
    const Batch batch = drain->batch();
    Known next = *known;
    for (const Event& event : batch.events)
        if (event.slot.kind != static_cast<uint8_t>(EventKind::thread))
            next.rows.emplace_back(event.slot.word[0], event.exit_ns != kUnfinished);
    for (const RingProgress& ring : batch.rings) {
        if (ring.ring_id == 0) continue;
        next.committed = {ring.next, {ring.open.begin(), ring.open.end()}};
        next.committed_drops = ring.dropped[static_cast<size_t>(Drop::full)];
    }
    if (broken == Broken::early_free) drain->committed();
    thread_state.ring->head.load(std::memory_order_relaxed);  // the disk takes its time
    known->rows = next.rows;
    known->committed = next.committed;
    known->committed_drops = next.committed_drops;
    if (broken != Broken::early_free) drain->committed();
}

void writer() {
    for (int i = 0; i < scans; ++i) take(false);
}

// --- what has to hold ----------------------------------------------------------------------------------

// Each value once, whole if its call has returned.
std::string judge(const std::vector<std::pair<uint64_t, bool>>& rows) {
    std::map<uint64_t, int> whole;
    for (const auto& [value, is_whole] : rows) {
        if (!is_whole) continue;
        if (!known->begun.contains(value)) return "something that nobody has recorded";
        if (++whole[value] > 1) return "call " + std::to_string(value) + " twice";
    }
    for (const uint64_t value : known->recorded)
        if (!whole.contains(value)) return "call " + std::to_string(value) + " is lost";
    return "";
}

int folder = -1;
char ring_file[kRingNameBytes];

std::string killed_here() {
    auto rows = known->rows;
    // Opened once: what it maps is the ring as it is now.
    static const auto ring = DeadRing::open(folder, ring_file, {});
    if (ring == nullptr) return "the ring is not readable";
    EventList events(ring->most_events(known->committed));
    ring->read(known->committed, events);
    for (const Event& event : events.all()) {
        const uint64_t value = event.slot.word[0];
        const bool is_whole = event.exit_ns != kUnfinished;
        for (const uint64_t word : event.slot.word)
            if (is_whole && word != value) return "a call that is half there";
        rows.emplace_back(value, is_whole);
    }
    return judge(rows);
}

std::string ended() {
    take(true);
    const uint64_t made = static_cast<uint64_t>(calls) + (known->begun.contains(kSignal) ? 1 : 0);
    if (known->recorded.size() + known->dropped != made) return "not all is accounted for";
    if (known->committed_drops != known->dropped) return "losses that are not counted";
    return judge(known->rows);
}

// --- the ring ------------------------------------------------------------------------------------------

ProcessState page = {};
std::vector<char> clean;  // the ring as it is before the first call

// One ring that is there before the program begins, and no room for another.
void make_ring(const char* where) {
    page.clock_kind = kMonotonic;
    page.generation = 1;
    page.pid = getpid();
    process_state = &page;
    RingSettings settings = {};
    settings.folder = where;
    settings.max_bytes = kSlotsOffset + kSmallSlots * sizeof(Slot);
    settings.pid = getpid();
    settings.clock_kind = kMonotonic;
    settings.trace_path = "/nowhere";
    open_rings(settings);
    page.doing = kRecording;
    if (!take_ring(thread_state)) std::abort();
    thread_state.ring->slot_count = kMostSlots;
    thread_state.mask = kMostSlots - 1;
    ring_name(ring_file, thread_state.ring->ring_id);
    chain_ring(thread_state);  // from now on it knows that there is no other
}

size_t ring_bytes() { return kSlotsOffset + kMostSlots * sizeof(Slot); }

// The drain stays, or half of the time would go into making it: of a ring with another number it starts anew.
void prepare() {
    static Known all;
    static const ThreadState as_it_was = thread_state;
    static Committed first;
    static uint64_t ring_id = thread_state.ring->ring_id;
    auto* const memory = reinterpret_cast<char*>(thread_state.ring);
    known = &all;
    if (drain == nullptr) {
        drain = new Drain(kMonotonic, {1, 1, 1});
        take(false);
        first = known->committed;
        clean.assign(memory, memory + ring_bytes());
    }
    drain->committed();
    std::memcpy(memory, clean.data(), clean.size());
    thread_state = as_it_was;
    thread_state.ring->ring_id = ++ring_id;
    thread_state.ring->tail = 0;
    thread_state.ring->slot_count = slots;
    thread_state.mask = slots - 1;
    take(false);  // the slot that says whose ring it is
    all = Known();
    known->committed = first;
}

struct Named {
    const char* name;
    uint32_t slots;
    int calls, scans;
    bool has_signal;
    Broken broken;
};
constexpr Named kScenes[] = {
    {"one call, two looks", 4, 1, 2, false, Broken::nothing},
    {"two calls, two looks", 4, 2, 2, false, Broken::nothing},
    {"three calls in two slots, one look", 2, 3, 1, false, Broken::nothing},
    {"two calls in one slot, two looks", 1, 2, 2, false, Broken::nothing},
    {"a call and a signal, one look", 4, 1, 1, true, Broken::nothing},
    {"a call and a signal in one slot, one look", 1, 1, 1, true, Broken::nothing},
    {"long: three calls, two looks", 4, 3, 2, false, Broken::nothing},
    {"long: three calls in two slots, two looks", 2, 3, 2, false, Broken::nothing},
    {"long: two calls and a signal, one look", 4, 2, 1, true, Broken::nothing},
    {"broken: complete before all is there", 4, 1, 1, false, Broken::early_mark},
    {"broken: a mark that releases nothing", 4, 1, 1, false, Broken::relaxed_mark},
    {"broken: slots that are not free", 1, 2, 1, false, Broken::blind_reuse},
    {"broken: free before it is committed", 1, 2, 1, false, Broken::early_free},
    {"broken: no guard against the handler", 4, 1, 1, true, Broken::no_guard},
};

bool holds(const Named& scene) {
    broken = scene.broken;
    slots = scene.slots;
    calls = scene.calls;
    scans = scene.scans;
    const model::Found found =
        model::explore({prepare, program, writer, scene.has_signal ? handler : nullptr, killed_here, ended});
    const bool is_found = !found.wrong.empty();
    std::printf("%-40s %9llu states %8llu ends  %s\n", scene.name,
                static_cast<unsigned long long>(found.states), static_cast<unsigned long long>(found.orders),
                is_found ? found.wrong.c_str() : "holds");
    std::fflush(stdout);
    return is_found == (scene.broken != Broken::nothing);
}

}  // namespace

// Time stands still: it would tell two orders apart that are the same (linked with --wrap).
extern "C" uint64_t __wrap__ZN7gpushim4shim10slow_ticksEv() { return 1; }
extern "C" ClockPair __wrap__ZN7gpushim4shim9read_pairENS0_9ClockKindE(ClockKind) { return {1, 1, 1}; }

int main(int count, char** words) {
    char where[] = "/dev/shm/gpushim-model-XXXXXX";
    if (mkdtemp(where) == nullptr) return 2;
    folder = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_ring(where);
    // From the first word that anybody changes.
    auto* const hot = reinterpret_cast<char*>(&thread_state.ring->head);
    model::share(hot, ring_bytes() - static_cast<size_t>(hot - reinterpret_cast<char*>(thread_state.ring)));
    model::keep_to_first(&thread_state, sizeof thread_state);
    int failed = 0;
    const std::string wanted = count < 2 ? "" : words[1];
    for (const Named& scene : kScenes) {
        const bool is_long = std::strncmp(scene.name, "long", 4) == 0;
        const bool is_named = wanted != "all" && std::strstr(scene.name, wanted.c_str()) != nullptr;
        if (wanted == "all" || (wanted.empty() ? !is_long : is_named)) failed += !holds(scene);
    }
    for (const char* name : {static_cast<const char*>(ring_file), "ring-0"}) unlinkat(folder, name, 0);
    rmdir(where);
    return failed != 0;
}
