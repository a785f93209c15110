// The words for why a GPU was idle, the group of each, and idle time summed by them. What each means and the
// order in which they are asked: README.md. Pure; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <string_view>

namespace gpushim::analysis {

enum class Cause : uint8_t {
    // What the thread was in that launched what ran next.
    input_loading,
    sync,
    sync_other_gpu,
    copy_staging,
    alloc_or_load,
    graph_update,
    comm_host,
    launching_other_gpu,
    launch_bound,
    optimizer,
    framework,
    operator_cpu,
    slow_call,
    python,
    between_launches,
    input_wait,
    input_cpu,
    host_cpu,
    host_blocked,
    callback,
    interpreter_lock,
    garbage_collection,
    host_unknown,
    // It was submitted, or being submitted.
    wait_other_gpu,
    wait_host_callback,
    kernel_gap,
    launch_latency,
    device_other,
    launch_call,
    // Nothing can be asked.
    tail,
    managed_pages,
    graph_gap,
    other_process,
    unresolved,
    count
};

enum class CauseGroup : uint8_t { input, copy, launch, sync, wait, host, other, count };

struct CauseRow {
    Cause cause;
    const char* name;
    CauseGroup group;
    const char* said;   // in a few words
    const char* words;  // the time in which
};

inline constexpr CauseRow kCauses[] = {
    {Cause::input_loading, "input_loading", CauseGroup::input, "loading a batch",
     "the launching thread loaded a batch, as its framework, samples or the name of its range told, or was "
     "in nothing of the framework directly before the step's recurring input copy"},
    {Cause::sync, "sync", CauseGroup::sync, "the host waited for the GPU, or came back from that",
     "the launching thread waited for a stream, an event or a context, or came back from that"},
    {Cause::sync_other_gpu, "sync_other_gpu", CauseGroup::sync, "the host waited for another GPU",
     "the launching thread waited for a stream, an event or a context of another GPU, or came back from "
     "that"},
    {Cause::copy_staging, "copy_staging", CauseGroup::copy, "a blocking or pageable copy",
     "the launching thread was in a pageable or blocking copy to a device"},
    {Cause::alloc_or_load, "alloc_or_load", CauseGroup::host, "allocating memory, or loading code",
     "the launching thread allocated or freed memory, or loaded a module or library"},
    {Cause::graph_update, "graph_update", CauseGroup::host, "capturing or updating a graph",
     "the launching thread captured, instantiated, updated or destroyed a graph"},
    {Cause::comm_host, "comm_host", CauseGroup::host, "a call of NCCL or MPI",
     "the launching thread was in a call of NCCL or MPI"},
    {Cause::launching_other_gpu, "launching_other_gpu", CauseGroup::launch, "launching for another GPU",
     "the launching thread was launching for another GPU"},
    {Cause::launch_bound, "launch_bound", CauseGroup::launch, "launching, one after the other",
     "the launching thread was launching for this GPU, or between two such launches"},
    {Cause::optimizer, "optimizer", CauseGroup::host, "the optimizer, on the host",
     "the launching thread was in an optimizer, as its framework, samples or the name of its range told, and "
     "in no call"},
    {Cause::framework, "framework", CauseGroup::host, "the framework dispatched operators",
     "the launching thread was in an operator of the framework, and in none of its calls"},
    {Cause::operator_cpu, "operator_cpu", CauseGroup::host, "operators that compute on the processor",
     "the launching thread was for 1 ms or longer in operators of the framework that made no call: they "
     "compute on the processor"},
    {Cause::slow_call, "slow_call", CauseGroup::host, "a slow call of the driver",
     "the launching thread was for 2 ms or longer in a launch, or in another call that neither waits nor "
     "copies: "
     "at a start these load code or set the device up"},
    {Cause::python, "python", CauseGroup::host, "Python between operators",
     "the launching thread was on its way from one operator or launch to the next, less than 1 ms apart"},
    {Cause::between_launches, "between_launches", CauseGroup::host, "the host between two launches",
     "the launching thread was on its way from one launch to the next, less than 1 ms apart (inferred: "
     "nothing told what it did there)"},
    {Cause::input_wait, "input_wait", CauseGroup::input, "the host waited before the input copy",
     "the launching thread was off its CPU directly before the step's recurring input copy"},
    {Cause::input_cpu, "input_cpu", CauseGroup::input, "the host computed before the input copy",
     "the launching thread ran directly before the step's recurring input copy"},
    {Cause::host_cpu, "host_cpu", CauseGroup::host, "other work of the host",
     "the launching thread ran otherwise, in other calls of the driver or outside of calls"},
    {Cause::host_blocked, "host_blocked", CauseGroup::host, "the host was off its CPU",
     "the launching thread was off its CPU otherwise"},
    {Cause::callback, "callback", CauseGroup::host, "outside of the framework: a callback, logging",
     "the launching thread was in nothing of the framework for longer, as it told, or in a callback or "
     "logging, as samples of its Python or the name of its range told"},
    {Cause::interpreter_lock, "interpreter_lock", CauseGroup::host, "the lock of Python's interpreter",
     "the launching thread waited for the lock of its Python interpreter, as samples told"},
    {Cause::garbage_collection, "garbage_collection", CauseGroup::host, "Python collected garbage",
     "the launching thread's Python interpreter collected garbage, as samples told"},
    {Cause::host_unknown, "host_unknown", CauseGroup::host, "nothing tells what the host did",
     "nothing tells what the launching thread did"},
    {Cause::wait_other_gpu, "wait_other_gpu", CauseGroup::wait, "an event of another GPU",
     "what ran next waited for an event of another GPU"},
    {Cause::wait_host_callback, "wait_host_callback", CauseGroup::wait, "a function of the host",
     "what ran next waited for a function of the host"},
    {Cause::kernel_gap, "kernel_gap", CauseGroup::launch, "short gaps between queued operations",
     "what ran next was queued well before; no longer than between operations back to back"},
    {Cause::launch_latency, "launch_latency", CauseGroup::launch, "the way from a launch to its start",
     "what ran next was submitted, no longer ago than an empty queue takes"},
    {Cause::device_other, "device_other", CauseGroup::other, "submitted, and did not run",
     "what ran next was submitted and did not run: another process, a context switch, clocks"},
    {Cause::launch_call, "launch_call", CauseGroup::launch, "inside of launch calls",
     "the launch call of what ran next had not returned"},
    {Cause::tail, "tail", CauseGroup::other, "after the last operation",
     "nothing ran any more in the time that was looked at"},
    {Cause::managed_pages, "managed_pages", CauseGroup::copy, "pages of managed memory, one after the other",
     "a page of managed memory had moved and the next had not, 5 ms apart at most: what touches them goes on "
     "from one to the next"},
    {Cause::graph_gap, "graph_gap", CauseGroup::other, "the GPU, from node to node of a graph",
     "a graph had begun and its next node had not, no longer than a start on an empty queue takes"},
    {Cause::other_process, "other_process", CauseGroup::other, "launched by another process",
     "another process launched what ran next"},
    {Cause::unresolved, "unresolved", CauseGroup::other, "gaps that the clocks do not resolve",
     "the clocks are not good enough to tell when, in so short a gap, what ran next was launched"},
};

inline constexpr const char* kCauseGroups[] = {"input", "copy", "launch", "sync", "wait", "host", "other"};

constexpr const CauseRow& row_of(Cause cause) { return kCauses[static_cast<size_t>(cause)]; }
constexpr const char* name_of(Cause cause) { return row_of(cause).name; }
constexpr CauseGroup group_of(Cause cause) { return row_of(cause).group; }
constexpr const char* name_of(CauseGroup group) { return kCauseGroups[static_cast<size_t>(group)]; }

static_assert(std::size(kCauseGroups) == static_cast<size_t>(CauseGroup::count));
static_assert([] {
    size_t next = 0;
    for (const CauseRow& row : kCauses)
        if (static_cast<size_t>(row.cause) != next++) return false;
    return next == static_cast<size_t>(Cause::count);
}());

struct NamedCause {
    std::string_view name;
    Cause cause;
};
// By name: millions of rows of a run are told by it.
inline constexpr auto kCausesByName = [] {
    std::array<NamedCause, std::size(kCauses)> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = {kCauses[i].name, kCauses[i].cause};
    std::sort(all.begin(), all.end(),
              [](const NamedCause& a, const NamedCause& b) { return a.name < b.name; });
    return all;
}();
inline constexpr auto kPlaceByName = [] {
    std::array<uint8_t, std::size(kCauses)> places{};
    for (size_t i = 0; i < places.size(); ++i)
        places[static_cast<size_t>(kCausesByName[i].cause)] = static_cast<uint8_t>(i);
    return places;
}();
constexpr uint8_t place_by_name(Cause cause) { return kPlaceByName[static_cast<size_t>(cause)]; }

// A cause that is not known by that name cannot be told.
constexpr Cause cause_named(std::string_view name) {
    const auto found =
        std::lower_bound(kCausesByName.begin(), kCausesByName.end(), name,
                         [](const NamedCause& known, std::string_view asked) { return known.name < asked; });
    return found != kCausesByName.end() && found->name == name ? found->cause : Cause::unresolved;
}

// Of one that is not known: nothing.
constexpr const char* said_of(std::string_view name) {
    for (const CauseRow& row : kCauses)
        if (name == row.name) return row.said;
    return "";
}

// Some of them, by name.
class Causes {
  public:
    constexpr Causes(std::initializer_list<std::string_view> names) {
        for (const std::string_view name : names) bits_ |= bit(cause_named(name));
    }
    constexpr bool has(Cause cause) const { return (bits_ & bit(cause)) != 0; }
    friend constexpr Causes operator|(Causes some, Causes others) {
        some.bits_ |= others.bits_;
        return some;
    }

  private:
    static constexpr uint64_t bit(Cause cause) { return uint64_t{1} << static_cast<uint32_t>(cause); }
    static_assert(static_cast<uint32_t>(Cause::count) <= 64);
    uint64_t bits_ = 0;
};

// Inferred to be on the way from one launch to the next.
inline constexpr Causes kBetweenLaunches = {"between_launches"};

// Idle time by cause; those of spans that do not overlap add up.
struct IdleByCause {
    std::array<int64_t, static_cast<size_t>(Cause::count)> ns{};

    int64_t& operator[](Cause cause) { return ns[static_cast<size_t>(cause)]; }
    int64_t operator[](Cause cause) const { return ns[static_cast<size_t>(cause)]; }
    int64_t total() const { return std::accumulate(ns.begin(), ns.end(), int64_t{0}); }
    int64_t of(CauseGroup group) const {
        int64_t sum_ns = 0;
        for (const CauseRow& row : kCauses) sum_ns += row.group == group ? (*this)[row.cause] : 0;
        return sum_ns;
    }
    IdleByCause& operator+=(const IdleByCause& other) {
        for (size_t i = 0; i < ns.size(); ++i) ns[i] += other.ns[i];
        return *this;
    }
    friend bool operator==(const IdleByCause&, const IdleByCause&) = default;
};

}  // namespace gpushim::analysis
