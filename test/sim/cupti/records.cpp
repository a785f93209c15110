#include "records.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/clock.h"
#include "engine/knobs.h"

namespace gpusim::cupti {
namespace {

struct Noted {
    Operation operation;
    CUpti_ActivityKind kind;
};

struct Buffer {
    uint8_t* bytes = nullptr;
    size_t size = 0, most = 0;  // most: records; 0: as many as fit
    size_t used = 0;
    std::vector<std::pair<size_t, Ns>> ends;  // of the records in it, by place
    bool is_over(Ns now) const {
        for (const auto& [place, end_ns] : ends)
            if (end_ns > now) return false;
        return true;
    }
};

// What the clock of records says at a moment of the box.
struct Reading {
    Ns box_ns = 0;
    Ns stamp_ns = 0;
    double rate = 1;  // of that clock, in nanoseconds of the box
    uint64_t stamp(Ns at) const {
        const Ns since = at - box_ns;
        return static_cast<uint64_t>(stamp_ns +
                                     (rate == 1 ? since : std::llround(static_cast<double>(since) * rate)));
    }
};

struct State {
    std::mutex mutex;
    CUpti_BuffersCallbackRequestFunc request = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete = nullptr;
    CUpti_TimestampCallbackFunc timestamp = nullptr;
    Reading registered;  // of that one's clock, when it was registered
    bool kinds[CUPTI_ACTIVITY_KIND_COUNT] = {};
    std::vector<Noted> noted;
    std::deque<Buffer> full;
    Buffer open;
    size_t dropped = 0;
    int64_t count = 0;
    std::unordered_map<std::string_view, char*> names;  // given out
};

State& state() {
    static State* const made = new State;  // used until the last instruction of the process
    return *made;
}

CUpti_ActivityKind kind_of(const Operation& op) {
    const std::string_view word = op.op;
    if (word == "kernel") return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    if (word == "memset") return CUPTI_ACTIVITY_KIND_MEMSET;
    if (word == "p2p") return CUPTI_ACTIVITY_KIND_MEMCPY2;
    const bool is_copy = word == "h2d" || word == "d2h" || word == "d2d" || word == "h2h";
    return is_copy ? CUPTI_ACTIVITY_KIND_MEMCPY : CUPTI_ACTIVITY_KIND_INVALID;
}

// Before CUDA 13.0 kernels' and copies' records were a version shorter.
bool is_old() { return knobs().cupti_version < 130'000; }

size_t size_of(CUpti_ActivityKind kind) {
    switch (kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
            return is_old() ? sizeof(CUpti_ActivityKernel9) : sizeof(CUpti_ActivityKernel10);
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            return is_old() ? sizeof(CUpti_ActivityMemcpy5) : sizeof(CUpti_ActivityMemcpy6);
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            return sizeof(CUpti_ActivityMemcpyPtoP4);
        case CUPTI_ACTIVITY_KIND_MEMSET:
            return sizeof(CUpti_ActivityMemset4);
        default:
            return 0;
    }
}

constexpr Ns kLongEnoughForRate = 1'000'000;

// Calls who registered the clock: without the lock.
Reading read_clock() {
    std::unique_lock held(state().mutex);
    const auto registered = state().timestamp;
    const Reading first = state().registered;
    held.unlock();
    Reading now = {clock::now(), 0, 1};
    now.stamp_ns =
        registered != nullptr ? static_cast<Ns>(registered()) : now.box_ns + clock::calendar_ahead();
    // Of a registered one CUPTI interpolates what it has read, however fast that runs.
    if (registered != nullptr && now.box_ns - first.box_ns >= kLongEnoughForRate)
        now.rate = static_cast<double>(now.stamp_ns - first.stamp_ns) /
                   static_cast<double>(now.box_ns - first.box_ns);
    return now;
}

const char* name_of(const Noted& noted) {
    if (noted.operation.name == nullptr) return nullptr;
    char*& given = state().names[noted.operation.name];
    if (given == nullptr) given = strdup(noted.operation.name);
    return given;
}

template <class Record>
Record& fill(uint8_t* at, const Noted& noted, const Reading& clock) {
    auto& record = *reinterpret_cast<Record*>(at);
    record.kind = noted.kind;
    record.start = clock.stamp(noted.operation.start_ns);
    record.end = clock.stamp(noted.operation.end_ns);
    record.deviceId = static_cast<uint32_t>(noted.operation.device);
    record.streamId = static_cast<uint32_t>(noted.operation.stream);
    record.correlationId = noted.operation.call;
    record.graphNodeId = noted.operation.node;
    return record;
}

void write(uint8_t* at, const Noted& noted, const Reading& clock) {
    const auto bytes = static_cast<uint64_t>(noted.operation.bytes);
    switch (noted.kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
            // An old one's last member is not ours to write.
            if (is_old())
                fill<CUpti_ActivityKernel9>(at, noted, clock).name = name_of(noted);
            else
                fill<CUpti_ActivityKernel10>(at, noted, clock).name = name_of(noted);
            return;
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            fill<CUpti_ActivityMemcpy5>(at, noted, clock).bytes = bytes;
            return;
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            fill<CUpti_ActivityMemcpyPtoP4>(at, noted, clock).bytes = bytes;
            return;
        default:
            fill<CUpti_ActivityMemset4>(at, noted, clock).bytes = bytes;
    }
}

using Lock = std::unique_lock<std::mutex>;

bool has_room(const Buffer& buffer, size_t wanted) {
    return buffer.bytes != nullptr && buffer.used + wanted <= buffer.size &&
           (buffer.most == 0 || buffer.ends.size() < buffer.most);
}

// The lock is given up while the subscriber is asked. False: it has none.
bool make_room(Lock& held, size_t wanted) {
    State& s = state();
    if (has_room(s.open, wanted)) return true;
    if (s.open.bytes != nullptr) s.full.push_back(std::exchange(s.open, {}));
    Buffer asked;
    const auto request = s.request;
    held.unlock();
    request(&asked.bytes, &asked.size, &asked.most);
    if (asked.bytes != nullptr) std::memset(asked.bytes, 0, asked.size);
    held.lock();
    // Another thread may have been faster.
    if (s.open.bytes == nullptr)
        s.open = std::move(asked);
    else if (asked.bytes != nullptr)
        s.full.push_back(std::move(asked));
    return has_room(s.open, wanted);
}

void put(Lock& held, const Noted& noted, const Reading& clock) {
    State& s = state();
    const int64_t every = knobs().cupti_drop;
    const bool is_lost = every != 0 && ++s.count % every == 0;
    const size_t size = size_of(noted.kind);
    if (is_lost || s.request == nullptr || !make_room(held, size)) {
        ++s.dropped;
        return;
    }
    write(s.open.bytes + s.open.used, noted, clock);
    s.open.ends.emplace_back(s.open.used, noted.operation.end_ns);
    s.open.used += size;
}

void give_back(Lock& held, std::deque<Buffer> buffers) {
    const auto complete = state().complete;
    held.unlock();
    for (const Buffer& buffer : buffers) complete(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
    held.lock();
}

// Of what is not over there are no times.
void blank(const Buffer& buffer, Ns now) {
    for (const auto& [place, end_ns] : buffer.ends) {
        if (end_ns <= now) continue;
        auto& record = *reinterpret_cast<CUpti_ActivityMemset4*>(buffer.bytes + place);
        record.start = record.end = 0;
    }
}

// The second tool in the process, which has a clock of its own (GPUSIM_CUPTI_CLOCK).
struct OtherTool {
    Ns at = 0;
    double rate = 0;  // 0: there is none
};

OtherTool read_other_tool() {
    const std::string& text = knobs().cupti_clock;
    double at_us = 0, rate = 0;
    if (text.empty()) return {};
    if (std::sscanf(text.c_str(), "%lf:%lf", &at_us, &rate) != 2 || rate <= 0) {
        std::fprintf(stderr, "gpusim: GPUSIM_CUPTI_CLOCK=%s is not <at>:<rate>\n", text.c_str());
        std::_Exit(2);
    }
    return {static_cast<Ns>(at_us * 1e3), rate};
}

const OtherTool& other_tool() {
    static const OtherTool tool = read_other_tool();
    return tool;
}

uint64_t other_tools_clock() {
    return static_cast<uint64_t>(static_cast<double>(clock::now()) * other_tool().rate);
}

void let_other_tool_register() {
    static std::atomic<bool> has_come{false};
    if (other_tool().rate <= 0 || clock::now() - clock::origin() < other_tool().at) return;
    if (!has_come.exchange(true)) set_timestamp(other_tools_clock);
}

// They lie at the same place in all records.
static_assert(offsetof(CUpti_ActivityMemset4, start) == offsetof(CUpti_ActivityKernel10, start) &&
              offsetof(CUpti_ActivityMemset4, end) == offsetof(CUpti_ActivityMemcpyPtoP4, end));

}  // namespace

void set_buffers(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
    const std::lock_guard guard(state().mutex);
    state().request = request;
    state().complete = complete;
}

void set_timestamp(CUpti_TimestampCallbackFunc timestamp) {
    put_noted();
    const Ns stamp_ns = static_cast<Ns>(timestamp());
    const std::lock_guard guard(state().mutex);
    state().timestamp = timestamp;
    state().registered = {clock::now(), stamp_ns, 1};
}

uint64_t timestamp() {
    let_other_tool_register();
    return static_cast<uint64_t>(read_clock().stamp_ns);
}

bool can_record(CUpti_ActivityKind kind) { return size_of(kind) != 0; }

void record_kind(CUpti_ActivityKind kind, bool on) {
    const std::lock_guard guard(state().mutex);
    state().kinds[kind] = on;
}

void note(const Operation& op) {
    const CUpti_ActivityKind kind = kind_of(op);
    const std::lock_guard guard(state().mutex);
    if (kind != CUPTI_ACTIVITY_KIND_INVALID && state().kinds[kind]) state().noted.push_back({op, kind});
}

void put_noted() {
    let_other_tool_register();  // it registers what was noted before with the clock before
    const Reading clock = read_clock();
    Lock held(state().mutex);
    for (const Noted& noted : std::exchange(state().noted, {})) put(held, noted, clock);
}

void spoil_names() {
    const std::lock_guard guard(state().mutex);
    for (const auto& [name, given] : std::exchange(state().names, {})) std::memset(given, '?', name.size());
}

void flush(bool forced) {
    put_noted();
    Lock held(state().mutex);
    State& s = state();
    if (s.open.used != 0) s.full.push_back(std::exchange(s.open, {}));
    const Ns now = clock::now();
    std::deque<Buffer> over, rest;
    for (Buffer& buffer : s.full) {
        if (forced) blank(buffer, now);
        (forced || buffer.is_over(now) ? over : rest).push_back(std::move(buffer));
    }
    s.full = std::move(rest);
    give_back(held, std::move(over));
}

size_t take_dropped() {
    const std::lock_guard guard(state().mutex);
    return std::exchange(state().dropped, 0);
}

CUpti_Activity* next_record(uint8_t* buffer, size_t bytes, const CUpti_Activity* record) {
    const auto* at = reinterpret_cast<const uint8_t*>(record);
    const size_t place = record == nullptr ? 0 : static_cast<size_t>(at - buffer) + size_of(record->kind);
    return place < bytes ? reinterpret_cast<CUpti_Activity*>(buffer + place) : nullptr;
}

}  // namespace gpusim::cupti
