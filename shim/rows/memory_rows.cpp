#include "memory_rows.h"

namespace gpushim::shim {
namespace {

enum Direction : int64_t {
    kUnknown,
    kHostToDevice,
    kDeviceToHost,
    kDeviceToDevice,
    kPeerToPeer,
    kHostToHost
};

// In the bytes of a `shaped` copy.
constexpr int kTargetType = 60, kSourceType = 56;
constexpr uint64_t kBytesMask = (uint64_t{1} << 56) - 1;
constexpr uint64_t kTypeHost = 1, kTypeDevice = 2, kTypeArray = 3;

bool is_host(Memory memory) { return memory == Memory::pageable || memory == Memory::pinned; }

int64_t direction_of(uint32_t traits_of_row, Memory source, Memory target) {
    const int64_t said = traits_of_row >> 23 & 3;
    if (said != 0) return said;
    if (source == Memory::unknown || target == Memory::unknown) return kUnknown;
    if (is_host(source)) return is_host(target) ? kHostToHost : kHostToDevice;
    return is_host(target) ? kDeviceToHost : kDeviceToDevice;
}

struct AllocationKind {
    Memory memory;
    bool counted;
};

// By the number in a row's traits, from device_memory on. What is mapped is counted where it was made.
constexpr AllocationKind kAllocationKinds[] = {
    {Memory::device, true}, {Memory::pinned, true}, {Memory::pinned, true},  {Memory::managed, true},
    {Memory::device, true}, {Memory::device, true}, {Memory::device, false}, {Memory::device, false},
};
constexpr uint64_t kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
constexpr int64_t kMostFailed = 100;  // rows of failed_allocation
constexpr uint32_t kFirstKind = traits::device_memory >> 25;
constexpr uint32_t kPhysical = (traits::physical_memory >> 25) - kFirstKind;
constexpr uint32_t kPool = (traits::pool_memory >> 25) - kFirstKind;

// Handles of physical memory are no addresses: they are kept where no address is.
uint64_t place_of(uint32_t kind, uint64_t address) {
    return kind == kPhysical ? address | uint64_t{1} << 63 : address;
}

// Its error is in the word behind those of its arguments (ring_format.h). A free asks for nothing.
bool is_out_of_memory(const Call& call, uint32_t kind) {
    if (!call.finished || call.succeeded || kind >= std::size(kAllocationKinds)) return false;
    const Memory memory = kAllocationKinds[kind].memory;
    return (memory == Memory::device || memory == Memory::managed) &&
           call.words<event::memory>().bytes != 0 && call.event.slot.word[kErrorWord] == kOutOfMemory;
}

}  // namespace

Memory MemoryRows::side(const Call& call, uint64_t address, Side what) const {
    if (what == Side::array) return Memory::array;
    const AddressRange* range = ranges_.find(address, call.enter_ns);
    if (range != nullptr) return range->memory;
    if (what == Side::device) return Memory::device;
    return Memory::pageable;
}

MemoryRows::Side MemoryRows::side_of(const Call& call, bool target) {
    if (call.has(target ? traits::to_array : traits::from_array)) return Side::array;
    if (call.has(traits::shaped)) {
        const uint64_t type = call.words<event::copy>().bytes >> (target ? kTargetType : kSourceType) & 15;
        return type == kTypeArray    ? Side::array
               : type == kTypeDevice ? Side::device
               : type == kTypeHost   ? Side::host
                                     : Side::any;
    }
    const uint32_t said = call.traits & traits::direction_bits;
    if (said == 0) return Side::any;
    return said == traits::d2d || said == (target ? traits::h2d : traits::d2h) ? Side::device : Side::host;
}

void MemoryRows::copy(const Call& call) {
    const int64_t flags = call.flags | (call.has(traits::blocking) ? kRowBlocking : 0);
    Series series = series_of(call, SeriesKind::copy);
    series.flags = flags;
    if (!call.succeeded) {
        tables_.copy.add({.enter_ns = call.enter_ns,
                          .dur_ns = call.dur_ns,
                          .thread_id = call.thread,
                          .api_id = call.api,
                          .group_id = call.group,
                          .flags = flags},
                         series_.id(series));
        return;
    }
    const auto words = call.words<event::copy>();
    const Memory target = side(call, words.target, side_of(call, true));
    const Memory source = side(call, words.source, side_of(call, false));
    int64_t direction = direction_of(call.traits, source, target);
    if (direction == kDeviceToDevice && are_peers(words.target, words.source, call.enter_ns))
        direction = kPeerToPeer;
    const uint64_t bytes = call.has(traits::shaped) ? words.bytes & kBytesMask : words.bytes;
    const int64_t sides = static_cast<int64_t>(source) + 8 * static_cast<int64_t>(target);
    series.stream = stream_of(call, words.stream);
    series.detail = {direction, sides, kNull};
    tables_.copy.add({.enter_ns = call.enter_ns,
                      .dur_ns = call.dur_ns,
                      .thread_id = call.thread,
                      .stream_id = series.stream,
                      .api_id = call.api,
                      .bytes = static_cast<int64_t>(bytes),
                      .direction = direction,
                      .sides = sides,
                      .group_id = call.group,
                      .flags = flags},
                     series_.id(series));
    timed_.operation(call.event, tables_.copy);
}

bool MemoryRows::are_peers(uint64_t target, uint64_t source, int64_t time_ns) const {
    const AddressRange* to = ranges_.find(target, time_ns);
    const AddressRange* from = ranges_.find(source, time_ns);
    return to != nullptr && from != nullptr && to->device != kNull && from->device != kNull &&
           to->device != from->device;
}

void MemoryRows::memset(const Call& call) {
    const int64_t flags = call.flags | (call.has(traits::blocking) ? kRowBlocking : 0);
    const auto words = call.words<event::memset>();
    const int64_t stream_id = call.succeeded ? stream_of(call, words.stream) : kNull;
    const int64_t bytes = call.succeeded ? static_cast<int64_t>(words.bytes) : kNull;
    Series series = series_of(call, SeriesKind::memset, stream_id);
    series.flags = flags;
    tables_.memset.add({.enter_ns = call.enter_ns,
                        .dur_ns = call.dur_ns,
                        .thread_id = call.thread,
                        .stream_id = stream_id,
                        .api_id = call.api,
                        .bytes = bytes,
                        .group_id = call.group,
                        .flags = flags},
                       series_.id(series));
    timed_.operation(call.event, tables_.memset);
}

void MemoryRows::memory(const Call& call) {
    const uint32_t kind = (call.traits >> 25 & 31) - kFirstKind;
    const auto words = call.words<event::memory>();
    const uint64_t address = words.address;
    const int64_t series = series_.id(series_of(call, SeriesKind::memory));
    if (!call.succeeded || address == 0 || kind >= std::size(kAllocationKinds)) {
        if (is_out_of_memory(call, kind)) out_of_memory(call);
        tables_.memory.add({.enter_ns = call.enter_ns,
                            .dur_ns = call.dur_ns,
                            .thread_id = call.thread,
                            .api_id = call.api,
                            .flags = call.flags},
                           series);
        return;
    }
    const Change change = words.bytes != 0 ? allocated(call, kind) : freed(call, kind);
    tables_.memory.add(
        {.enter_ns = call.enter_ns,
         .dur_ns = call.dur_ns,
         .thread_id = call.thread,
         .api_id = call.api,
         .address = static_cast<int64_t>(address),
         .bytes = change.bytes,
         .kind = change.counted ? static_cast<int64_t>(change.memory) : 0,
         .context_id = change.context == 0 ? kNull : int64_t{change.context},
         .held_bytes = change.counted ? ranges_.held_bytes(change.memory, change.context) : kNull,
         .pool_id = change.pool_id,
         .flags = call.flags,
         .allocated_ns = change.allocated_ns},
        series);
}

void MemoryRows::out_of_memory(const Call& call) {
    const uint32_t context = call.event.slot.context;
    tables_.failed_allocation.add({.slot = failed_ % kMostFailed,
                                   .nth = failed_,
                                   .enter_ns = call.enter_ns,
                                   .thread_id = call.thread,
                                   .api_id = call.api,
                                   .bytes = static_cast<int64_t>(call.words<event::memory>().bytes),
                                   .context_id = context == 0 ? kNull : int64_t{context},
                                   .held_bytes = context == 0
                                                     ? kNull
                                                     : ranges_.held_bytes(Memory::device, context) +
                                                           ranges_.held_bytes(Memory::managed, context)});
    ++failed_;
}

MemoryRows::Change MemoryRows::allocated(const Call& call, uint32_t kind) {
    const auto [memory, counted] = kAllocationKinds[kind];
    const uint32_t context = call.event.slot.context;
    const auto words = call.words<event::memory>();
    const bool named_pool = kind == kPool && words.origin != 0;
    const int64_t pool = named_pool ? handles_.at(Object::pool, words.origin, call.enter_ns).id : kNull;
    const uint64_t bytes = words.bytes;
    ranges_.born(place_of(kind, words.address), {bytes, call.enter_ns, call.event.exit_ns, kForEver, memory,
                                                 counted, context, streams_.device(context), pool});
    return {memory, counted, context, static_cast<int64_t>(bytes), pool, kNull};
}

MemoryRows::Change MemoryRows::freed(const Call& call, uint32_t kind) {
    const AddressRange* range =
        ranges_.died(place_of(kind, call.words<event::memory>().address), call.enter_ns);
    if (range == nullptr)
        return {kAllocationKinds[kind].memory, false, call.event.slot.context, kNull, kNull, kNull};
    return {range->memory,  range->counted, range->context, -static_cast<int64_t>(range->bytes),
            range->pool_id, range->enter_ns};
}

bool MemoryRows::is_held(int64_t api_id, uint64_t address, int64_t enter_ns) const {
    const uint32_t kind = (api_traits[api_id % kApis].traits >> 25 & 31) - kFirstKind;
    if (kind >= std::size(kAllocationKinds)) return false;
    const AddressRange* range = ranges_.find(place_of(kind, address), kForEver - 1);
    return range != nullptr && range->died_ns == kForEver && range->enter_ns <= enter_ns &&
           enter_ns <= range->enter_ns + kMostMovedNs;
}

void MemoryRows::load(Database& base) {
    Statement rows = base.prepare(
        "SELECT enter_ns, dur_ns, api_id, address, bytes, context_id, pool_id FROM memory"
        " WHERE address IS NOT NULL ORDER BY enter_ns");
    while (rows.step()) {
        const uint32_t kind = (api_traits[rows.number(2) % kApis].traits >> 25 & 31) - kFirstKind;
        if (kind >= std::size(kAllocationKinds)) continue;
        const uint64_t place = place_of(kind, static_cast<uint64_t>(rows.number(3)));
        const int64_t bytes = rows.number(4);
        const auto context = static_cast<uint32_t>(rows.number(5) == kNull ? 0 : rows.number(5));
        if (bytes < 0)
            ranges_.died(place, rows.number(0));
        else
            ranges_.born(place,
                         {static_cast<uint64_t>(bytes), rows.number(0), rows.number(0) + rows.number(1),
                          kForEver, kAllocationKinds[kind].memory, kAllocationKinds[kind].counted, context,
                          streams_.device(context), rows.number(6)});
    }
    Statement peaks =
        base.prepare("SELECT context_id, kind, pool_id, peak_bytes, reached_ns FROM memory_peak");
    while (peaks.step())
        ranges_.set_peak(
            {static_cast<uint32_t>(peaks.number(0)), static_cast<Memory>(peaks.number(1)), peaks.number(2)},
            {peaks.number(3), peaks.number(4)});
    ranges_.take_raised();
    Statement failed = base.prepare("SELECT coalesce(max(nth) + 1, 0) FROM failed_allocation");
    if (failed.step()) failed_ = failed.number(0);
}

void MemoryRows::end_of_batch(int64_t remembered_from_ns) {
    add_peaks();
    ranges_.forget_before(remembered_from_ns);
}

void MemoryRows::add_peaks() {
    for (const HeldOf& of : ranges_.take_raised()) {
        const Peak& peak = ranges_.peaks().at(of);
        tables_.memory_peak.add({.context_id = of.context,
                                 .kind = static_cast<int64_t>(of.memory),
                                 .pool_id = of.pool_id,
                                 .peak_bytes = peak.bytes,
                                 .reached_ns = peak.reached_ns});
    }
}

}  // namespace gpushim::shim
