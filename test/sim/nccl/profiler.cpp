#include "profiler.h"

#include <unistd.h>

#include <algorithm>
#include <functional>

#include "communicator.h"
#include "engine/knobs.h"
#include "kernel.h"
#include "plugin_library.h"
#include "profiler_words.h"
#include "service.h"

namespace gpusim::nccl::profiler {
namespace {

// How every operation is done here. Channel 0 is over first, the last one when the kernel is.
constexpr int kChannels = 2, kSteps = 4;
constexpr uint8_t kWarps = 16;

struct Name {
    const char* name;
    uint8_t number;
};
Name function_of(Kind kind) {
    switch (kind) {
        case Kind::broadcast:
            return {"Broadcast", 0};
        case Kind::reduce:
            return {"Reduce", 1};
        case Kind::all_gather:
            return {"AllGather", 2};
        case Kind::reduce_scatter:
            return {"ReduceScatter", 3};
        case Kind::all_reduce:
            return {"AllReduce", 4};
        case Kind::send:
            return {"Send", 6};
        case Kind::recv:
            return {"Recv", 7};
        case Kind::all_to_all:
            return {"AlltoAll", 8};
        case Kind::scatter:
            return {"Scatter", 9};
        case Kind::gather:
            return {"Gather", 10};
    }
    return {"Unknown", 0xff};
}

// The five functions, called as their interface has them.
class Functions {
  public:
    explicit Functions(const ncclComm& comm) : comm_(comm), plugin_(comm.plugin) {}

    int interface() const { return plugin_.interface; }
    bool wants(uint64_t type) const { return (comm_.plugin_mask & static_cast<int>(type)) != 0; }
    Words words(uint64_t type, const void* parent) const {
        return {plugin_.interface, type, parent, comm_.rank};
    }
    void* start(Words& words) const {
        void* handle = nullptr;
        as<int(void*, void**, void*)>(2)(comm_.plugin_context, &handle, words.data());
        return handle;
    }
    // Before 2.25 also of none.
    void stop(void* handle) const {
        if (handle != nullptr || interface() <= 2) as<int(void*)>(3)(handle);
    }
    template <class T>
    void state(void* handle, int state, T value) const {
        alignas(16) std::byte said[16] = {};
        std::memcpy(said, &value, sizeof value);
        if (handle != nullptr) as<int(void*, int, void*)>(4)(handle, state, said);
    }
    // In interfaces 1 and 2 nothing comes with the state of a step.
    void step_state(void* handle, int state, size_t bytes) const {
        if (interface() >= 3) return this->state(handle, state, interface() >= 4 ? bytes : size_t{0});
        if (handle != nullptr) as<int(void*, int, void*)>(4)(handle, state, nullptr);
    }
    template <class F>
    F* as(size_t place) const {
        return reinterpret_cast<F*>(plugin_.functions[place]);
    }

  private:
    const ncclComm& comm_;
    Plugin plugin_;
};

// --- the program's thread
// -----------------------------------------------------------------------------------

void* start_collective(const Functions& call, ncclComm& comm, const Transfer& t, void* group) {
    Words words = call.words(collective, call.interface() <= 4 ? group : nullptr);
    const Places& at = words.places();
    const Name function = function_of(t.kind);
    words.put(at.sequence, comm.plugin_sequence[static_cast<size_t>(t.kind)]++);
    words.put_name(at.function, function.name, function.number);
    words.put(at.count, t.count);
    words.put(at.root, t.peer);
    words.put_name(at.type, "ncclFloat32", 7);
    words.put(at.channels, uint8_t{kChannels});
    words.put(at.channels + 1, kWarps);
    words.put_name(at.algorithm, "RING", 1);
    words.put_name(at.protocol, "SIMPLE", 2);
    return call.start(words);
}

void* start_message(const Functions& call, const Transfer& t, void* group) {
    Words words = call.words(message, call.interface() <= 4 ? group : nullptr);
    const Places& at = words.places();
    const Name function = function_of(t.kind);
    words.put_name(at.message_function, function.name, function.number);
    words.put_name(at.message_type, "ncclFloat32", 7);
    words.put(at.message_count, t.count);
    words.put(at.message_peer, t.peer);
    if (at.message_channels != 0) words.put(at.message_channels, uint8_t{kChannels});
    return call.start(words);
}

// From interface 5 on a plug-in is told of the program's calls, too, if it wants anything that is in them.
void tell_of_calls(const Functions& call, const Batch& batch) {
    if (call.interface() < 5) return;
    Words outer = call.words(group_call, nullptr);
    void* of_group = call.start(outer);
    for (const Transfer& t : batch.transfers) {
        Words inner = call.words(t.is_message() ? message_call : collective_call, of_group);
        call.stop(call.start(inner));
    }
    call.stop(of_group);
}

// --- the service thread
// -------------------------------------------------------------------------------------

// A network operation on its way: what its moments share.
struct Flow {
    void* handle = nullptr;
    void* step = nullptr;
};

class Timeline {
  public:
    Timeline(Communicator comm, Ns start_ns, Ns end_ns)
        : comm_(std::move(comm)), start_ns_(start_ns), length_ns_(end_ns - start_ns) {}

    void add_channel(void* operation, int number);
    void add_network(void* operation, int number, int peer, bool sends, int64_t bytes);
    std::vector<service::Moment> take() {
        std::stable_sort(moments_.begin(), moments_.end(),
                         [](const auto& a, const auto& b) { return a.at < b.at; });
        return std::move(moments_);
    }

  private:
    using Act = std::function<void(const Functions&)>;
    Ns end_of(int number) const { return start_ns_ + length_ns_ - length_ns_ / 8 * (kChannels - 1 - number); }
    void at(Ns when, Act act) {
        moments_.push_back({when, [comm = comm_, act = std::move(act)] { act(Functions(*comm)); }});
    }
    void add_step(const std::shared_ptr<Flow>& flow, int step, Ns from, Ns length, bool sends, int64_t bytes);

    Communicator comm_;
    Ns start_ns_, length_ns_;
    std::vector<service::Moment> moments_;
};

void Timeline::add_channel(void* operation, int number) {
    if (!Functions(*comm_).wants(channel) || comm_->plugin.interface < 3) return;
    auto flow = std::make_shared<Flow>();
    const Ns start = start_ns_, end = end_of(number);
    at(start, [=](const Functions& call) {
        Words words = call.words(channel, operation);
        words.put(0, static_cast<uint8_t>(number));
        if (call.interface() >= 4) words.put(8, static_cast<uint64_t>(start));
        flow->handle = call.start(words);
    });
    at(end, [=](const Functions& call) {
        call.state(flow->handle, 22, call.interface() >= 4 ? static_cast<uint64_t>(end) : 0);
        call.stop(flow->handle);
    });
}

// A sender waits a quarter of a step for the GPU, a quarter for its peer and half of it for the network; a
// receiver half of it for the network, a quarter for what came to be flushed, and the rest for the GPU.
void Timeline::add_step(const std::shared_ptr<Flow>& flow, int step, Ns from, Ns length, bool sends,
                        int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    at(from, [=](const Functions& call) {
        Words words = call.words(profiler::step, flow->handle);
        words.put(0, step);
        flow->step = call.start(words);
        call.step_state(flow->step, sends ? 8 : 10, 0);
    });
    if (sends && comm_->plugin.interface >= 4)
        at(from + length / 4, [=](const Functions& call) { call.step_state(flow->step, 20, size); });
    at(from + length / 2, [=](const Functions& call) {
        call.step_state(flow->step, sends ? 9 : 11, size);
        if (call.interface() <= 3)
            call.state(flow->handle, sends ? 2 : 5, size * static_cast<size_t>(step + 1));
    });
    if (!sends)
        at(from + length / 4 * 3, [=](const Functions& call) { call.step_state(flow->step, 12, size); });
    at(from + length, [=](const Functions& call) {
        call.stop(flow->step);
        flow->step = nullptr;
    });
}

void Timeline::add_network(void* operation, int number, int peer, bool sends, int64_t bytes) {
    if (!Functions(*comm_).wants(network | step)) return;
    auto flow = std::make_shared<Flow>();
    const Ns end = end_of(number), length = (end - start_ns_) / kSteps;
    const int64_t chunk = bytes / kChannels / kSteps;
    at(start_ns_, [=](const Functions& call) {
        Words words = call.words(network, operation);
        words.put(0, static_cast<int32_t>(getpid()));
        words.put(4, static_cast<uint8_t>(number));
        words.put(8, peer);
        words.put(12, kSteps);
        words.put(16, static_cast<int>(chunk));
        words.put(20, sends ? 1 : 0);
        flow->handle = call.start(words);
    });
    for (int step = 0; step < kSteps; ++step)
        add_step(flow, step, start_ns_ + step * length, length, sends, chunk);
    at(end, [=](const Functions& call) { call.stop(flow->handle); });
}

void add_transfer(Timeline& timeline, const ncclComm& comm, const Transfer& t, void* operation) {
    const int64_t bytes = Share{t, comm.rank, comm.nranks}.whole_bytes();
    const int next = (comm.rank + 1) % comm.nranks, last = (comm.rank + comm.nranks - 1) % comm.nranks;
    for (int number = 0; number < kChannels; ++number) {
        timeline.add_channel(operation, number);
        if (knobs().nccl_network == 0 || comm.nranks < 2) continue;
        if (t.kind != Kind::recv)
            timeline.add_network(operation, number, t.is_message() ? t.peer : next, true, bytes);
        if (t.kind != Kind::send)
            timeline.add_network(operation, number, t.is_message() ? t.peer : last, false, bytes);
    }
}

}  // namespace

void begin(ncclComm& comm, uint64_t hash) {
    comm.plugin = take_plugin();
    if (comm.plugin.interface == 0) return;
    const Functions call(comm);
    const int nodes = knobs().nccl_network != 0 ? comm.nranks : 1;
    void** const context = &comm.plugin_context;
    int* const mask = &comm.plugin_mask;
    if (call.interface() >= 5)
        call.as<int(void**, uint64_t, int*, const char*, int, int, int, void*)>(1)(
            context, hash, mask, nullptr, nodes, comm.nranks, comm.rank, nullptr);
    else if (call.interface() == 4)
        call.as<int(void**, int*, const char*, uint64_t, int, int, int, void*)>(1)(
            context, mask, nullptr, hash, nodes, comm.nranks, comm.rank, nullptr);
    else
        call.as<int(void**, int*)>(1)(context, mask);
}

void end(ncclComm& comm) {
    if (comm.plugin.interface == 0) return;
    service::wait_until_idle();
    const Functions call(comm);
    if (comm.plugin_context != nullptr) call.as<int(void*)>(5)(comm.plugin_context);
    comm.plugin = {};
    drop_plugin();
}

void launched(Batch& batch, bool captured) {
    ncclComm& comm = *batch.comm;
    if (comm.plugin.interface == 0 || comm.plugin_mask == 0 || captured) return;
    const Functions call(comm);
    tell_of_calls(call, batch);
    Words words = call.words(group, nullptr);
    void* of_group = call.start(words);
    // The first interface told nothing of what is in a group without a handle.
    if (of_group == nullptr && call.interface() <= 2) return;
    for (const Transfer& t : batch.transfers)
        batch.plugin_handles.push_back(t.is_message() ? start_message(call, t, of_group)
                                                      : start_collective(call, comm, t, of_group));
    for (void* handle : batch.plugin_handles) call.stop(handle);
    call.stop(of_group);
}

void runs(const Batch& batch, Ns start_ns, Ns end_ns) {
    if (batch.plugin_handles.empty()) return;
    Timeline timeline(batch.comm, start_ns, end_ns);
    for (size_t i = 0; i < batch.transfers.size(); ++i)
        add_transfer(timeline, *batch.comm, batch.transfers[i], batch.plugin_handles[i]);
    if (auto moments = timeline.take(); !moments.empty()) service::push(std::move(moments));
}

}  // namespace gpusim::nccl::profiler
