#include "explore.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

namespace model {

namespace {

constexpr size_t kStackBytes = 512 << 10;
constexpr int kThreads = 2;

uint64_t mixed(uint64_t value) {
    value ^= value >> 31;
    value *= 0x9e3779b97f4a7c15;
    return value ^ value >> 29;
}

struct Clock {
    uint32_t at[kThreads] = {};
    void join(const Clock& other) {
        for (int i = 0; i < kThreads; ++i) at[i] = std::max(at[i], other.at[i]);
    }
};

struct Thread {
    ucontext_t context;
    jmp_buf place;  // where it waits to go on
    bool has_begun = false;
    std::vector<char> stack = std::vector<char>(kStackBytes);
    bool is_done = false, in_handler = false;
    uint64_t history = 0;  // of all that it has read
    Clock clock;
};

// Of each byte that is shared, by thread: when it was last touched so.
struct Byte {
    uint32_t touched[kThreads][4] = {};
};

struct Region {
    const char* begin = nullptr;
    size_t bytes = 0;
    bool has(const void* address) const {
        const auto* at = static_cast<const char*>(address);
        return at >= begin && at < begin + bytes;
    }
};

struct Explorer {
    Scene scene;
    Region shared, first_only;
    Thread threads[kThreads];
    jmp_buf scheduler;
    int running = -1;
    bool signal_wanted = false, signal_given = false;
    std::vector<uint8_t> choices, options;  // of this order: what was taken, of how many
    size_t step = 0;
    std::unordered_set<uint64_t> seen;
    std::vector<uint64_t> words;  // shared memory as it is in `memory`
    uint64_t memory = 0;
    std::vector<size_t> written;  // words, since `memory` was last right
    std::vector<Byte> bytes;
    std::vector<size_t> touched;  // of these
    std::vector<Clock> releases;  // by half word
    Found found;
};
Explorer* explorer = nullptr;

size_t offset_of(const void* address) {
    return static_cast<size_t>(static_cast<const char*>(address) - explorer->shared.begin);
}

uint64_t word_at(size_t i) {
    uint64_t now = 0;
    std::memcpy(&now, explorer->shared.begin + 8 * i, 8);
    return now;
}

void refresh_memory() {
    Explorer& e = *explorer;
    for (const size_t i : e.written) {
        const uint64_t now = word_at(i);
        e.memory ^= mixed(e.words[i] + (i << 32)) ^ mixed(now + (i << 32));
        e.words[i] = now;
    }
    e.written.clear();
}

uint64_t state() {
    refresh_memory();
    uint64_t hash = explorer->memory;
    for (const Thread& thread : explorer->threads) {
        hash = mixed(hash * 31 + thread.history);
        for (const uint32_t at : thread.clock.at) hash = mixed(hash * 31 + at);
    }
    return mixed(hash * 31 + (explorer->signal_given ? 1 : 0));
}

void wrong(const std::string& what) {
    if (explorer->found.wrong.empty()) explorer->found.wrong = what;
}

// A plain access beside one of the other thread, or the other way round, that nothing orders.
void look_for_races(size_t offset, size_t bytes, Access access) {
    Explorer& e = *explorer;
    Thread& self = e.threads[e.running];
    const int other = 1 - e.running;
    const bool writes = access == Access::write || access == Access::atomic_write;
    const bool plain = access == Access::read || access == Access::write;
    for (size_t i = offset; i < std::min(offset + bytes, e.bytes.size()); ++i) {
        for (int theirs = 0; theirs < 4; ++theirs) {
            const bool they_write = theirs % 2 == 1, they_are_plain = theirs < 2;
            if (!(plain || they_are_plain) || !(writes || they_write)) continue;
            if (e.bytes[i].touched[other][theirs] > self.clock.at[other])
                wrong("a race at byte " + std::to_string(i) + " of the shared memory");
        }
        e.bytes[i].touched[e.running][static_cast<int>(access)] = self.clock.at[e.running];
        e.touched.push_back(i);
    }
    if (!writes) return;
    e.written.push_back(offset / 8);
    if (offset % 8 + bytes > 8) e.written.push_back(offset / 8 + 1);
}

// What the running thread does or sees from now on depends on this.
void tell(uint64_t value) {
    uint64_t& history = explorer->threads[explorer->running].history;
    history = mixed(history * 31 + mixed(value + 1));
}

void give_way() {
    if (_setjmp(explorer->threads[explorer->running].place) == 0) _longjmp(explorer->scheduler, 1);
}

void run_handler() {
    Explorer& e = *explorer;
    e.signal_wanted = false;
    e.threads[0].in_handler = true;
    e.scene.handler();
    e.threads[0].in_handler = false;
}

void body(int number) {
    number == 0 ? explorer->scene.first() : explorer->scene.second();
    explorer->threads[number].is_done = true;
    tell(0);
    give_way();
}

void begin(int number) {
    Thread& thread = explorer->threads[number];
    thread.is_done = thread.in_handler = thread.has_begun = false;
    thread.history = static_cast<uint64_t>(number);
    thread.clock = {};
    thread.clock.at[number] = 1;
    getcontext(&thread.context);
    thread.context.uc_stack = {thread.stack.data(), 0, thread.stack.size()};
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, reinterpret_cast<void (*)()>(body), 1, number);
}

void begin_all() {
    Explorer& e = *explorer;
    e.running = -1;
    e.scene.prepare();
    e.signal_wanted = e.signal_given = false;
    e.step = 0;
    e.words.resize(e.shared.bytes / 8);
    e.memory = 0;
    for (size_t i = 0; i < e.words.size(); ++i) e.memory ^= mixed((e.words[i] = word_at(i)) + (i << 32));
    e.written.clear();
    e.bytes.resize(e.shared.bytes);
    for (const size_t i : e.touched) e.bytes[i] = {};
    e.touched.clear();
    e.releases.assign(e.shared.bytes / 4 + 1, {});
    for (int i = 0; i < kThreads; ++i) begin(i);
}

// What may happen next: a thread's next access, or the signal.
enum Next : uint8_t { first, second, signal };
std::vector<Next> possible() {
    Explorer& e = *explorer;
    std::vector<Next> next;
    if (!e.threads[0].is_done) next.push_back(first);
    if (!e.threads[1].is_done) next.push_back(second);
    if (e.scene.handler != nullptr && !e.signal_given && !e.threads[0].is_done) next.push_back(signal);
    return next;
}

void let(Next next) {
    Explorer& e = *explorer;
    if (next == signal) e.signal_wanted = e.signal_given = true;
    e.running = next == second ? 1 : 0;
    Thread& thread = e.threads[e.running];
    if (_setjmp(e.scheduler) == 0) {
        if (thread.has_begun) _longjmp(thread.place, 1);
        thread.has_begun = true;
        setcontext(&thread.context);
    }
    e.running = -1;
}

// Whatever that touches is no access of the threads'.
void look_at_what_a_kill_leaves() {
    Explorer& e = *explorer;
    const int running = e.running;
    e.running = -1;
    if (const std::string what = e.scene.is_fine(); !what.empty()) wrong("killed here: " + what);
    e.running = running;
}

// One order to its end, or to a state that is known. False: something is wrong.
bool run_order() {
    Explorer& e = *explorer;
    begin_all();
    for (;; ++e.step) {
        const std::vector<Next> next = possible();
        if (next.empty()) break;
        if (e.step == e.choices.size()) {
            if (!e.seen.insert(state()).second) return true;
            ++e.found.states;
            look_at_what_a_kill_leaves();
            e.choices.push_back(0);
            e.options.push_back(static_cast<uint8_t>(next.size()));
        }
        if (!e.found.wrong.empty()) return false;
        let(next[e.choices[e.step]]);
    }
    ++e.found.orders;
    if (const std::string what = e.scene.at_end(); !what.empty()) wrong("at the end: " + what);
    return e.found.wrong.empty();
}

// On to the next order. False: those were all.
bool turn_back() {
    Explorer& e = *explorer;
    while (!e.choices.empty() && e.choices.back() + 1 == e.options.back()) {
        e.choices.pop_back();
        e.options.pop_back();
    }
    if (e.choices.empty()) return false;
    ++e.choices.back();
    return true;
}

Region shared_region, first_region;

}  // namespace

void share(const void* at, size_t bytes) { shared_region = {static_cast<const char*>(at), bytes}; }
void keep_to_first(const void* at, size_t bytes) { first_region = {static_cast<const char*>(at), bytes}; }

Found explore(const Scene& scene) {
    static Explorer all;
    all = Explorer();
    explorer = &all;
    all.scene = scene;
    all.shared = shared_region;
    all.first_only = first_region;
    while (run_order() && turn_back()) {
    }
    explorer = nullptr;
    return all.found;
}

void announce(const void* address, size_t bytes, Access access) {
    if (explorer == nullptr || explorer->running < 0) return;
    Explorer& e = *explorer;
    const bool is_shared = e.shared.has(address);
    if (!is_shared && !(e.running == 0 && e.first_only.has(address))) return;
    const size_t offset = is_shared ? offset_of(address) : ~size_t{0};
    tell(offset * 4 + static_cast<uint64_t>(access));  // where it stands, until it goes on
    // Between plain accesses nothing the other thread does can matter, unless it is a race, which is found
    // wherever they stand; a signal or a kill can.
    const bool is_plain = access == Access::read || access == Access::write;
    const bool may_be_interrupted = e.running == 0 && e.scene.handler != nullptr && !e.signal_given;
    if (!is_plain || may_be_interrupted)
        give_way();
    else if (e.step + 1 >= e.choices.size())
        look_at_what_a_kill_leaves();
    if (e.signal_wanted && e.running == 0) run_handler();
    ++e.threads[e.running].clock.at[e.running];
    uint64_t value = 0;
    if (access == Access::read || access == Access::atomic_read)
        std::memcpy(&value, address, std::min<size_t>(bytes, 8));
    tell(value);
    if (is_shared) look_for_races(offset, bytes, access);
}

void acquired(const void* address) {
    if (explorer == nullptr || explorer->running < 0 || !explorer->shared.has(address)) return;
    Thread& thread = explorer->threads[explorer->running];
    thread.clock.join(explorer->releases[offset_of(address) / 4]);
}

// A store that does not release ends what was released there before.
void released(const void* address, bool releases) {
    if (explorer == nullptr || explorer->running < 0 || !explorer->shared.has(address)) return;
    explorer->releases[offset_of(address) / 4] =
        releases ? explorer->threads[explorer->running].clock : Clock();
}

}  // namespace model
