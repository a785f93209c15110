// An operation of a device: something a stream executes. Its start and end are worked out as soon as
// everything it comes after is known (mostly while it is being issued), not by waiting for the time to come.
//
//   issued      start = max(issued + latency, ends of all it comes after)      end = start + duration
//   |--latency--|.................|=========operation=========|
//
// An operation that depends on somebody else (another rank, a host function) has a Behaviour and stays open
// until that answers. Everything here is used with the engine's lock held (engine.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "clock.h"

namespace gpusim {

struct Outcome {
    Ns start_ns = 0;
    Ns end_ns = 0;
    int error = 0;  // a CUresult: what the operation's context suffers from now on
};

// What an operation does that the box cannot work out by itself.
class Behaviour {
  public:
    virtual ~Behaviour() = default;
    // Called once, when all that comes before it is known: it may start at `ready_ns`, not earlier. The bytes
    // of what came before are moved by the Mover, in order: what must see them is to be pushed there
    // (mover.h).
    virtual void arrive(Ns ready_ns) = 0;
    // When it runs, once that is known. Asked again and again after `arrive`.
    virtual std::optional<Outcome> outcome() = 0;
    // A time before which it certainly does not end; lets a stepped clock answer queries without waiting.
    virtual Ns not_before() const = 0;
    // What the truth file says about its size.
    virtual int64_t bytes() const { return 0; }
    // Its bytes; on the Mover, once, after `outcome` is known and without the engine's lock.
    virtual void move() {}
};

// What goes wrong in a context for good: the first asynchronous error and the moment from which calls return
// it.
struct Fault {
    int error = 0;
    Ns from_ns = 0;
    static std::atomic<int> how_many;  // in the whole process: lets calls pass by without the lock
};

struct TruthRecord;

struct Operation {
    const char* op = "";    // word of the truth file: kernel, h2d, memset, …
    const char* name = "";  // lives for ever (intern.h)
    int device = 0;
    uint64_t stream = 0;
    int64_t bytes = 0;
    Ns earliest_ns = 0;
    Ns duration_ns = 0;
    int error = 0;
    std::function<void()> move;
    std::shared_ptr<Behaviour> behaviour;
    std::shared_ptr<Fault> fault;  // where an error goes
    bool silent = false;           // joins and waits: not an operation of the device, not in the truth

    // Filled by the engine.
    std::vector<std::shared_ptr<Operation>> after;  // those still open
    std::shared_ptr<TruthRecord> truth;
    uint32_t call = 0;  // for a profiler: number of the call that issued it (profile.h); 0: nobody asked
    uint64_t node = 0;  // … and of the graph's node; 0: none
    Ns start_ns = 0;
    Ns end_ns = 0;
    uint64_t moves = 0;  // the Mover's ticket by which all bytes up to here are in place
    bool arrived = false;
    bool known = false;
};

// A state of affairs: all operations up to some point are over. Streams have one (their tail), events keep
// one.
struct Point {
    Ns end_ns = 0;
    uint64_t moves = 0;
    std::vector<std::shared_ptr<Operation>> open;

    void join(const Point& other);
    void settle();  // folds the operations that are known by now into the numbers
};

}  // namespace gpusim
