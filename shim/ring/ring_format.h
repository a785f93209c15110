// What lies in a ring: the contract between the traced program's threads (producers, one per ring), the
// writer thread, and the recovery that reads what a killed process left behind. Constants and plain structs
// only; analysis/ includes it too. Raise kRingVersion with every change of layout or meaning.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpushim {

constexpr uint64_t kRingMagic = 0x676e697268737067;  // "gpshring"
constexpr uint32_t kRingVersion = 4;

// What an event is; decides what its four words mean. `handle` words are the driver's own values.
enum class EventKind : uint8_t {
    launch,  // function, stream, grid (x | y<<32 | z<<48), block and shared (x:11 y:11 z:7 | shared<<32)
    graph_launch,  // exec, stream
    copy,          // target, source, bytes (of a `shaped` row the low 56 bits; above them CUmemorytype of
                   // target << 60 | of source << 56, and an array's handle is no address), stream
    memset,        // target, bytes, stream, element bytes
    host_call,     // stream: a host function or callback was enqueued
    sync,          // handle waited for (stream, event or context; 0: current context)
    query,         // handle, times asked, ticks spent in all of them: one slot for many polls
    record,        // event, stream
    wait,          // event, stream
    value,         // stream memory operation: stream, address
    born,          // handle, parent, extra (by the API: flags, device, …)
    died,          // handle
    named,         // handle, parent, length of the name; the name's bytes follow in kText slots
    memory,        // address, bytes (0: freed), flags or pool, stream or allocation
    context,       // handle: made current
    capture,       // stream, graph
    graph,         // graph or exec, graph or node, what the node holds, GraphChange: built, updated
    collective,    // communicator, count, datatype | op<<8 | root or peer<<32, stream
    communicator,  // handle, rank | ranks<<32, hash of the unique id, parent
    group,         // group start/end
    marker,  // value (samples, …), Marker, length of the text; the text follows in kText slots where it has
             // one
    other,   // a call that only takes time: nothing, or one handle
    text,    // 32 bytes of the text that the event before it announces
    thread,  // thread id of the kernel, ticks when it took this ring, thread number (RingOwner)
    odd_launch,  // grid y, z beyond 16 bits, or attributes: cluster (x:16 y:16 z:16), flags; follows its
                 // launch
    timed,  // after a launch, copy or memset: start event | end event << 32 (event_pool.h; by CUPTI 0 | the
            // number of its records << 32), number of their context | kFenced, position of the operation,
            // its stream; enter is that of the operation, exit is when its end event had been recorded
    gap,    // after a call: before it, its thread did nothing with the driver from `enter` to `exit`; ns of
            // the thread's CPU time between two readings around that, event kind << 16 | api of the call
            // before, api of the call after, ticks between the readings that lie beside the gap: there it ran
    span,   // a range or mark of the program's own (NVTX): what (span_word), depth of a push or pop, id of a
            // range or number of the category that is named, length of the texts, payload (a double); the
            // texts follow in kText slots: the name of the domain, then what the program says
    graph_content,  // executable graph, the node below which (0: all of it), nodes told, GraphTelling
    graph_nodes,    // two of them: handle | GraphNode << kNodeShift, what it holds (a kernel's function, a
                    // copy's bytes or kNotTold); handle 0: only one
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
constexpr uint64_t kNotTold = ~uint64_t{0};

// `api` of slots that no hooked call made: thread, markers of gpushim_*, names that the shim asked for, their
// texts, what is in graphs, when operations ran, what the host did meanwhile.
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
