// What NCCL calls in us, handed over as NCCL hands it, by each interface; what becomes of it in the ring.
#include "shim/program/nccl_plugin.h"

#include <dlfcn.h>

#include <memory>
#include <vector>

#include "nccl/profiler_words.h"
#include "rings.h"
#include "shim/base/config.h"
#include "shim/program/nccl_plugin_tables.h"
#include "shim/ring/nccl_view.h"
#include "trace.h"

namespace nccl_plugin_test {

using namespace trace;
using gpusim::nccl::profiler::Words;
namespace profiler = gpusim::nccl::profiler;

namespace {

// NCCL calls functions that are of its own types, by places in a table: to a sanitizer these are others.
#ifdef __clang__
#define AS_NCCL_DOES __attribute__((no_sanitize("function")))
#else
#define AS_NCCL_DOES
#endif

// NCCL, with one communicator of rank 2 of 8 on 4 nodes.
class Nccl {
  public:
    explicit Nccl(int interface) : interface_(interface), functions_(functions_of(interface)) { begin(); }

    int mask() const { return mask_; }
    Words words(uint64_t type, const void* parent) const { return {interface_, type, parent, 2}; }
    AS_NCCL_DOES void* start(Words words) const {
        void* handle = reinterpret_cast<void*>(0xabc);  // as it may be before
        as<int(void*, void**, void*)>(2)(context_, &handle, words.data());
        return handle;
    }
    AS_NCCL_DOES void end() const { as<int(void*)>(5)(context_); }
    AS_NCCL_DOES void stop(void* handle) const { as<int(void*)>(3)(handle); }
    template <class T>
    AS_NCCL_DOES void state(void* handle, int state, T said) const {
        as<int(void*, int, void*)>(4)(handle, state, &said);
    }
    AS_NCCL_DOES void state(void* handle, int state) const {
        as<int(void*, int, void*)>(4)(handle, state, nullptr);
    }

    void* start_all_reduce() const;
    void* start_network(const void* parent, bool sends, int process = getpid()) const;
    void* start_step(const void* parent) const {
        Words step = words(profiler::step, parent);
        step.put(0, 0);
        return start(step);
    }

  private:
    static void* const* functions_of(int interface) {
        auto* const found = static_cast<void* const*>(nccl_functions(interface));
        REQUIRE(found != nullptr);
        return found;
    }
    template <class F>
    F* as(size_t place) const {
        return reinterpret_cast<F*>(functions_[place]);
    }
    AS_NCCL_DOES void begin() {
        int result = 0;
        if (interface_ >= 5)
            result = as<int(void**, uint64_t, int*, const char*, int, int, int, void*)>(1)(
                &context_, 77, &mask_, nullptr, 4, 8, 2, nullptr);
        else if (interface_ == 4)
            result = as<int(void**, int*, const char*, uint64_t, int, int, int, void*)>(1)(
                &context_, &mask_, nullptr, 77, 4, 8, 2, nullptr);
        else
            result = as<int(void**, int*)>(1)(&context_, &mask_);
        REQUIRE(result == 0);
        REQUIRE(context_ != nullptr);
    }

    int interface_;
    void* const* functions_;
    void* context_ = nullptr;
    int mask_ = -1;
};

void* Nccl::start_all_reduce() const {
    Words told = words(profiler::collective, nullptr);
    const profiler::Places& at = told.places();
    told.put(at.sequence, uint64_t{9});
    told.put_name(at.function, "AllReduce", 4);
    told.put(at.count, size_t{1000});
    told.put(at.channels, uint8_t{12});
    told.put_name(at.algorithm, "NVLS", 4);
    told.put_name(at.protocol, "LL128", 1);
    return start(told);
}

void* Nccl::start_network(const void* parent, bool sends, int process) const {
    Words told = words(profiler::network, parent);
    told.put(0, process);
    told.put(4, uint8_t{3});
    told.put(8, 70'000);
    told.put(12, 4);
    told.put(20, sends ? 1 : 0);
    return start(told);
}

// What the thread has written since.
class Written {
  public:
    explicit Written(NcclProfiler wanted = NcclProfiler::all) {
        config.nccl_profiler = wanted;
        rings::record();  // it has a ring
        first_ = thread_state.ring->head.load();
    }
    ~Written() { config.nccl_profiler = NcclProfiler::off; }
    // Of one kind.
    template <class E>
    std::vector<E> all() const {
        std::vector<E> found;
        for (uint64_t i = first_; i < thread_state.ring->head.load(); ++i) {
            const Slot& slot = thread_state.slots[i & thread_state.mask];
            CHECK(slot.mark.load() == complete_mark(i));
            CHECK(slot.enter <= slot.exit);
            if (slot.kind == static_cast<uint8_t>(E::kind)) found.push_back(words_of<E>(slot));
        }
        return found;
    }
    template <class E>
    E one() const {
        const auto found = all<E>();
        REQUIRE(found.size() == 1);
        return found[0];
    }

  private:
    rings::Recording recording_;
    uint64_t first_ = 0;
};

}  // namespace

TEST_CASE("an operation of each interface is understood", "[nccl_plugin]") {
    for (int interface = 1; interface <= 6; ++interface) {
        INFO("interface " << interface);
        const Written written;
        const Nccl nccl(interface);
        void* handle = nccl.start_all_reduce();
        REQUIRE(handle != nullptr);
        CHECK(written.all<event::nccl_operation>().empty());
        nccl.stop(handle);
        nccl.stop(handle);  // NCCL may do so
        const auto told = written.one<event::nccl_operation>();
        const NcclOperationWord what = nccl_operation_of(told.what);
        CHECK(kNcclFunctions[what.function - 1] == "AllReduce");
        CHECK(kNcclAlgorithms[what.algorithm - 1] == "NVLS");
        CHECK(kNcclProtocols[what.protocol - 1] == "LL128");
        CHECK(what.channels == 12);
        CHECK_FALSE(what.is_message);
        CHECK(told.count == 1000);
        CHECK(told.place == 9);
        CHECK(told.handle == reinterpret_cast<uint64_t>(handle));

        const auto joined = written.one<event::nccl_joined>();
        CHECK(joined.context >> 32 == static_cast<uint64_t>(interface));
        CHECK((joined.context & 0xffff) == told.what >> kNcclContextShift);
        CHECK(joined.communicator == (interface >= 4 ? 77 : 0));
        CHECK(joined.place == (interface >= 4 ? 2 | 8ull << 32 : 0));
        CHECK(joined.nodes == (interface >= 4 ? 4 : 0));
    }
}

TEST_CASE("a message of each interface is understood", "[nccl_plugin]") {
    for (int interface = 1; interface <= 6; ++interface) {
        INFO("interface " << interface);
        const Written written;
        const Nccl nccl(interface);
        Words told = nccl.words(profiler::message, nullptr);
        const profiler::Places& at = told.places();
        told.put_name(at.message_function, "Recv", 7);
        told.put(at.message_count, size_t{55});
        told.put(at.message_peer, 6);
        if (at.message_channels != 0) told.put(at.message_channels, uint8_t{2});
        nccl.stop(nccl.start(told));
        const auto found = written.one<event::nccl_operation>();
        const NcclOperationWord what = nccl_operation_of(found.what);
        CHECK(kNcclFunctions[what.function - 1] == "Recv");
        CHECK(what.algorithm == 0);
        CHECK(what.channels == (interface >= 4 ? 2 : 0));
        CHECK(what.is_message);
        CHECK(found.count == 55);
        CHECK(found.place == 6);
    }
}

TEST_CASE("a network operation sums up its steps", "[nccl_plugin]") {
    for (int interface = 1; interface <= 6; ++interface) {
        INFO("interface " << interface);
        const Written written;
        const Nccl nccl(interface);
        void* parent = nccl.start_all_reduce();
        nccl.stop(parent);
        void* handle = nccl.start_network(parent, true);
        void* first = nccl.start_step(handle);
        void* second = nccl.start_step(handle);
        for (void* step : {first, second}) {
            interface >= 4 ? nccl.state(step, 8, size_t{1} << 40) : nccl.state(step, 8);
            interface >= 4 ? nccl.state(step, 9, size_t{500}) : nccl.state(step, 9);
            nccl.stop(step);
        }
        if (interface <= 3) nccl.state(handle, 2, size_t{1000});
        nccl.stop(handle);
        const auto told = written.one<event::nccl_network>();
        const NcclNetworkWord what = nccl_network_of(told.what);
        CHECK(what.peer == 70'000);
        CHECK(what.channel == 3);
        CHECK(what.sends);
        CHECK_FALSE(what.is_foreign);
        CHECK(told.operation == reinterpret_cast<uint64_t>(parent));
        CHECK((told.sizes & kNcclMostBytes) == 1000);
        CHECK(told.sizes >> kNcclStepsShift == 2);
        CHECK(nccl_wait_of(told.waits, kNcclWaitsForGpu) > 0);
        CHECK(nccl_wait_of(told.waits, kNcclWaitsForPeer) == 0);
        CHECK(nccl_wait_of(told.waits, kNcclWaitsForNetwork) > 0);
    }
}

TEST_CASE("a channel's times are the GPU's from interface 4 on", "[nccl_plugin]") {
    for (int interface = 3; interface <= 6; ++interface) {
        INFO("interface " << interface);
        const Written written;
        const Nccl nccl(interface);
        Words told = nccl.words(profiler::channel, reinterpret_cast<void*>(5));
        told.put(0, uint8_t{31});
        told.put(8, uint64_t{1000});
        void* handle = nccl.start(told);
        nccl.state(handle, 22, uint64_t{interface >= 4 ? 1600u : 0u});
        nccl.stop(handle);
        const auto found = written.one<event::nccl_channel>();
        CHECK((found.what & 0xff) == 31);
        CHECK(found.operation == 5);
        CHECK(found.gpu_start == (interface >= 4 ? 1000 : 0));
        CHECK(found.gpu_end == (interface >= 4 ? 1600 : 0));
    }
}

TEST_CASE("another process's operation is not taken for one of this", "[nccl_plugin]") {
    const Written written;
    const Nccl nccl(5);
    nccl.stop(nccl.start_network(reinterpret_cast<void*>(0x1234), false, getpid() + 1));
    const auto told = written.one<event::nccl_network>();
    CHECK(told.operation == 0);
    CHECK(nccl_network_of(told.what).is_foreign);
    CHECK(told.what >> kNcclContextShift == 0);
}

TEST_CASE("only what is asked for is asked of NCCL", "[nccl_plugin]") {
    {
        const Written written(NcclProfiler::off);
        CHECK(Nccl(5).mask() == 0);
    }
    {
        const Written written(NcclProfiler::network);
        CHECK(Nccl(5).mask() == 2 + 4 + 8 + 16);
        CHECK(Nccl(1).mask() == 2 + 4 + 8 + 16);
    }
    const Written written(NcclProfiler::all);
    CHECK(Nccl(5).mask() == 2 + 4 + 8 + 16 + 64);
    CHECK(Nccl(2).mask() == 2 + 4 + 8 + 16);
}

TEST_CASE("what is not ours to tell has no handle, but for groups", "[nccl_plugin]") {
    const Written written;
    const Nccl nccl(5);
    for (const uint64_t type : {32u, 128u, 256u, 512u, 1024u, 2048u, 4096u})
        CHECK(nccl.start(nccl.words(type, nullptr)) == nullptr);
    CHECK(nccl.start_step(nullptr) == nullptr);
    CHECK(nccl.start_step(reinterpret_cast<void*>(123456789)) == nullptr);
    void* group = nccl.start(nccl.words(profiler::group, nullptr));
    CHECK(group != nullptr);
    nccl.state(group, 23);
    nccl.stop(group);
    nccl.stop(nullptr);
    CHECK(written.all<event::nccl_operation>().empty());
}

TEST_CASE("nothing is told while nothing is recorded", "[nccl_plugin]") {
    const Written written;
    const Nccl nccl(5);
    void* open = nccl.start_all_reduce();
    process_state->doing = kDark;
    CHECK(nccl.start_all_reduce() == nullptr);
    nccl.stop(open);
    process_state->doing = kRecording;
    CHECK(written.all<event::nccl_operation>().empty());
    nccl.stop(open);
    CHECK(written.all<event::nccl_operation>().empty());
}

TEST_CASE("what finds no place is counted, and later there is one", "[nccl_plugin]") {
    const Written written;
    const Nccl nccl(5);
    const uint64_t before = nccl_plugin_state().left_out;
    std::vector<void*> open;
    for (int i = 0; i < 5000; ++i)
        if (void* handle = nccl.start_all_reduce()) open.push_back(handle);
    CHECK(open.size() == 4096);
    CHECK(nccl_plugin_state().left_out - before == 5000 - 4096);
    process_state->doing = kDark;
    for (void* handle : open) nccl.stop(handle);
    process_state->doing = kRecording;
    void* again = nccl.start_all_reduce();
    CHECK(again != nullptr);
    nccl.stop(again);
}

TEST_CASE("what NCCL never stopped has no place after its communicator", "[nccl_plugin]") {
    const Written written;
    const Nccl nccl(5), other(5);
    const uint64_t before = nccl_plugin_state().left_out;
    void* all_reduce = nccl.start_all_reduce();
    void* network = nccl.start_network(all_reduce, true);
    void* step = nccl.start_step(network);
    void* others = other.start_all_reduce();
    nccl.end();
    CHECK(nccl_plugin_state().left_out - before == 3);
    for (void* handle : {step, network, all_reduce, others}) other.stop(handle);
    CHECK(written.one<event::nccl_operation>().handle == reinterpret_cast<uint64_t>(others));
    CHECK(written.all<event::nccl_network>().empty());
}

TEST_CASE("interfaces that we do not know are not answered", "[nccl_plugin]") {
    CHECK(nccl_functions(0) == nullptr);
    CHECK(nccl_functions(7) == nullptr);
    const auto none = [](void*, const char*) -> void* { return nullptr; };
    CHECK(nccl_plugin_of(dlopen(nullptr, RTLD_LAZY), "ncclProfiler_v7", none) == nullptr);
    CHECK(nccl_plugin_of(dlopen(nullptr, RTLD_LAZY), "ncclProfiler_v5", none) == nccl_functions(5));
    CHECK(nccl_plugin_of(dlopen(nullptr, RTLD_LAZY), "ncclProfiler_v", none) == nullptr);
    CHECK(nccl_plugin_of(dlopen(nullptr, RTLD_LAZY), "ncclProfiler_v51", none) == nullptr);
    CHECK(nccl_plugin_of(dlopen("libc.so.6", RTLD_LAZY), "ncclProfiler_v5", none) == nullptr);
    CHECK(may_be_nccl_plugin("ncclProfiler_v5") == false);  // not offered
}

TEST_CASE("times are kept within one in 65,536", "[nccl_plugin]") {
    for (uint64_t ticks : {0ull, 1ull, 65'535ull, 65'536ull, 1'000'000'007ull, 123'456'789'012'345ull}) {
        const uint64_t again = long_ticks(short_ticks(ticks));
        CHECK(std::max(again, ticks) - std::min(again, ticks) <= ticks / 32'768);
    }
    CHECK(long_ticks(short_ticks(~0ull)) == 0xffffull << 31);
}

}  // namespace nccl_plugin_test
