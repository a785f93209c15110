// What lies in a ring: the contract between the traced program's threads (producers, one per ring), the
// writer thread, and the recovery that reads what a killed process left behind. Constants and plain structs
// only; analysis/ includes it too. Raise kRingVersion with every change of layout or meaning.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpushim {

constexpr uint64_t kRingMagic = 0x676e697268737067;  // "gpshring"
constexpr uint32_t kRingVersion = 8;

// What an event is; decides what its four words mean.
enum class EventKind : uint8_t {
#define EVENT(kind, number, ...) kind = number,
#include "events.def"
};

// What an event of kind `graph` changes in an executable graph: its fourth word. The second is the node, the
// third what it has from now on.
enum class GraphChange : uint64_t {
    nothing,   // that counts
    function,  // of a kernel
    bytes,     // of a copy
    enabled,   // 0 or 1
    contents,  // everything, taken from the graph that the second word is; told by graph_content
    child,     // what is below the node, taken from the graph that the third word is; told by graph_content
};

// Whether nodes follow, were all, or were not looked at: what was there before is taken to be there still.
enum class GraphTelling : uint64_t { begins, ends, skipped };

enum class GraphNode : uint8_t { kernel, copy, memset, other, child, end };  // end: of what a child holds
constexpr int kNodeShift = 56;
constexpr uint64_t kNodeHandle = (uint64_t{1} << kNodeShift) - 1;
constexpr uint64_t kNotTold = ~uint64_t{0};

// `api` of slots that no hooked call made: thread, markers of gpushim_*, names and contexts that the shim
// asked for, texts, what is in graphs, when operations ran, what the host did meanwhile.
constexpr uint16_t kNoApi = 0xffff;

// Of a `timed` slot: since the operation before it with events, its stream was told to wait for something, or
// was given something that has none.
constexpr uint64_t kFenced = 1ull << 32;

// `rest`: from here on only objects' lives are recorded; `resume`: everything again.
enum class Marker : uint64_t { mark, step, step_n, rest, resume };

// `nothing`: of an event that was never finished.
enum class Span : uint8_t { nothing, mark, push, pop, range_start, range_end, category, count };

// The first word of a span: what, whether it has a payload, how many bytes of the texts are the domain's,
// category.
constexpr uint64_t kSpanHasPayload = 1 << 8;
constexpr uint64_t span_word(Span what, bool has_payload, uint64_t domain_bytes, uint64_t category) {
    return static_cast<uint64_t>(what) | (has_payload ? kSpanHasPayload : 0) | domain_bytes << 16 |
           category << 32;
}

// Of the matrices of a batch: all share one. `not_told`: each has an address of its own, and may be any.
enum class Sharing : uint64_t { none, one, not_told };

// How a matrix product is done: how many there are, the types of A, B and C (cudaDataType), the arithmetic
// (cublasComputeType_t), and who shares A and B. As a word: batch | types << 32, 38, 44 | compute << 50 |
// sharing << 58, 60 | 1 << 63; 0: the shape is not told.
struct ProductHow {
    uint64_t batch, a_type, b_type, c_type, compute;
    Sharing a_sharing, b_sharing;
};
constexpr uint64_t kSizeNotTold = ~uint64_t{0};  // in the place of m, n or k
constexpr uint64_t kTypeNotTold = 63, kComputeNotTold = 255;
constexpr uint64_t product_word(const ProductHow& how) {
    const auto at_most = [](uint64_t value, uint64_t most) { return value < most ? value : most; };
    return (how.batch & 0xffffffff) | at_most(how.a_type, kTypeNotTold) << 32 |
           at_most(how.b_type, kTypeNotTold) << 38 | at_most(how.c_type, kTypeNotTold) << 44 |
           at_most(how.compute, kComputeNotTold) << 50 | static_cast<uint64_t>(how.a_sharing) << 58 |
           static_cast<uint64_t>(how.b_sharing) << 60 | 1ull << 63;
}
constexpr ProductHow product_how_of(uint64_t word) {
    return {word & 0xffffffff,
            word >> 32 & 63,
            word >> 38 & 63,
            word >> 44 & 63,
            word >> 50 & 255,
            static_cast<Sharing>(word >> 58 & 3),
            static_cast<Sharing>(word >> 60 & 3)};
}

enum SlotFlags : uint16_t {
    // Stream 0 means the thread's own (a _ptds or _ptsz name, or a look-up that asked so).
    kPerThreadStream = 1,
    kInsideNccl = 2,  // called from within an NCCL call: belongs to `group`
    kCaptured = 4,    // recorded into a graph, not executed
    kFailed = 8,      // the call returned an error; the fourth word says which
};

// One event. 64 bytes, a cache line. The producer writes it in place: `mark` first says "open" (the call has
// been entered), then, when the call has returned and everything else is in place, "complete" with release
// order. Of an open slot mark, api, kind, flags, context, group and enter count, the rest is of whatever was
// there before; only an open query whose `exit` is not 0 is whole, and may still grow. The texts of an event
// and its odd_launch are complete before the event itself is.
struct alignas(64) Slot {
    std::atomic<uint32_t> mark;  // (position + 1) << 1 | complete; 0: never used
    uint16_t api;                // row of the hook tables (ApiId)
    uint8_t kind;                // EventKind
    uint8_t flags;
    uint32_t context;  // number of the thread's current context (see EventKind::context); 0: not known
    uint32_t group;    // number of the NCCL call it happened in; 0: none
    uint64_t enter;    // ticks
    uint64_t exit;     // ticks
    uint64_t word[4];
};
static_assert(sizeof(Slot) == 64);
constexpr size_t kTextBytes = sizeof(Slot::word);
constexpr size_t kErrorWord = 3;  // of a call that failed

// The words of each kind by their names.
namespace event {
#define EVENT(name, number, ...)                           \
    struct name {                                          \
        static constexpr EventKind kind = EventKind::name; \
        __VA_OPT__(uint64_t __VA_ARGS__;)                  \
    };
#include "events.def"
}  // namespace event

template <class E>
E words_of(const Slot& slot) {
    static_assert(sizeof(E) <= sizeof slot.word);
    E words;
    std::memcpy(&words, slot.word, sizeof words);
    return words;
}

// Those that the kind does not have become 0.
template <class E>
void put_words(Slot& slot, const E& words) {
    static_assert(sizeof(E) <= sizeof slot.word && sizeof(E) % sizeof(uint64_t) == 0);
    std::memcpy(slot.word, &words, sizeof words);
    std::memset(slot.word + sizeof(E) / sizeof(uint64_t), 0, sizeof slot.word - sizeof(E));
}

// Where the kinds that announce a text say its length.
constexpr size_t kLengthWord = offsetof(event::named, length) / sizeof(uint64_t);
static_assert(kLengthWord == offsetof(event::marker, length) / sizeof(uint64_t) &&
              kLengthWord == offsetof(event::span, length) / sizeof(uint64_t));

constexpr uint32_t open_mark(uint64_t position) { return static_cast<uint32_t>(position + 1) << 1; }
constexpr uint32_t complete_mark(uint64_t position) { return open_mark(position) | 1; }

// Ticks to time: the writer adds a pair at least every 100 ms; the newest kAnchors of them stay here for
// recovery.
struct Anchor {
    uint64_t ticks;
    int64_t mono_ns;
    int64_t real_ns;
};
constexpr size_t kAnchors = 256;

// Why an event is not there: `reader`, `disk`, `size`: its ring was full because nothing could be written, as
// somebody kept the trace open, there was little space on the disk or the trace is as large as it may be.
enum class Drop : uint32_t { full, no_ring, writer_down, reader, disk, size, count };
constexpr size_t kDrops = static_cast<size_t>(Drop::count);

// Whose slots these are, from `position` on until the next owner's. Threads have numbers of their own (1, 2,
// …: the rows of the thread table), because the kernel uses its thread ids again. Of any position that is not
// yet in the database the owner is among the newest kOwners: a ring does not change hands more often than it
// is emptied.
struct RingOwner {
    uint64_t position;
    int32_t tid;
    uint32_t number;
};
constexpr size_t kOwners = 256;

// First page(s) of a ring's file; slots follow at kSlotsOffset.
struct RingHeader {
    uint64_t magic;
    uint32_t version;
    uint32_t slot_count;  // a power of two
    uint64_t ring_id;     // unique within the trace
    uint8_t trace_uuid[16];
    uint8_t boot_id[16];
    int32_t pid;
    uint32_t clock_kind;  // 0: TSC; 1: CLOCK_MONOTONIC ns; 2: the test clock
    int64_t process_start_ticks;
    char trace_path[1024];

    // The producer's lines. Atomic for readers' sake: only the ring's owner writes, with plain moves
    // (recorder.h).
    alignas(64) std::atomic<uint64_t> head;  // next position to use
    std::atomic<uint64_t> cached_tail;
    std::atomic<uint64_t> dropped[kDrops];
    std::atomic<uint64_t> own_ticks;    // that events of ours have taken of the thread's time …
    std::atomic<uint64_t> host_ticks;   // … and that reading its CPU clock has
    std::atomic<uint64_t> own_events;   // our events in the streams, which take the device's time
    std::atomic<uint64_t> wait_ticks;   // in calls of the program that wait for a device
    std::atomic<uint64_t> timed;        // operations that got events of ours
    std::atomic<uint64_t> untimed;      // operations in an open window that got none
    std::atomic<uint64_t> owner_count;  // ever; the newest is at (count - 1) % kOwners
    RingOwner owners[kOwners];

    // The writer's line: positions below are free again.
    alignas(64) std::atomic<uint64_t> tail;
    std::atomic<uint32_t> anchor_count;  // ever written; the newest is at (count - 1) % kAnchors
    Anchor anchors[kAnchors];
};
// One file without slots per process, ring_id 0, counts what was lost where a thread had no ring at all.
constexpr size_t kSlotsOffset = 12288;
static_assert(sizeof(RingHeader) <= kSlotsOffset);

}  // namespace gpushim
