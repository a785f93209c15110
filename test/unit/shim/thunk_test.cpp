// Thunks around functions of our own: what they record, when they pass through, and what they leave behind.
#include <catch2/catch.hpp>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "optional.h"
#include "plain_ring.h"
#include "shim/base/sanitized.h"
#include "shim/hooks/thunk.h"

namespace thunk_test {

using namespace gpushim;
using namespace gpushim::shim;

// AddressSanitizer gives the locals of what it instruments memory of their own: there the frames of these
// thunks do not tell who called whom. The library itself is never built so for a host.
#if UNDER_ADDRESS_SANITIZER
#define NEEDS_FRAMES()    \
    lacks("plain_build"); \
    return
#else
#define NEEDS_FRAMES() static_cast<void>(0)
#endif

namespace {

class Recording : public PlainRing {
  public:
    explicit Recording(uint32_t slots = 64) : PlainRing(slots) { thread_state.context = 9; }
    ~Recording() { group_state = {}; }
    bool complete(size_t i) const { return slot(i).mark == complete_mark(i); }
};

using Body = CUresult (*)(CUstream, int);
Body body;
CUresult run_body(CUstream stream, int value) { return body(stream, value); }

template <EventKind Kind, uint32_t Traits = 0, ApiId Id = api_cuStreamSynchronize>
struct Row {
    static constexpr ApiId id = Id;
    static constexpr EventKind kind = Kind;
    static constexpr uint32_t traits = Traits;
    using Words = words::Words<words::arg<0>, words::arg<1>>;
    static void* real() { return reinterpret_cast<void*>(&run_body); }
};
using Sync = Thunk<Row<EventKind::sync>, CUresult(CUstream, int)>;
using Query = Thunk<Row<EventKind::query>, CUresult(CUstream, int)>;
using Begins =
    Thunk<Row<EventKind::group, traits::group_begins, api_ncclGroupStart>, CUresult(CUstream, int)>;
using Ends = Thunk<Row<EventKind::group, traits::group_ends, api_ncclGroupEnd>, CUresult(CUstream, int)>;
using Collective = Thunk<Row<EventKind::collective, 0, api_ncclAllReduce>, CUresult(CUstream, int)>;

// Several copies in one call.
struct Batch {
    static constexpr ApiId id = api_cuMemcpyBatchAsync;
    static constexpr EventKind kind = EventKind::copy;
    static constexpr uint32_t traits = 0;
    using Words =
        words::Words<words::each<0, 1, words::item<0>, words::item<0>, words::constant<64>, words::arg<2>>>;
    static void* real() {
        return reinterpret_cast<void*>(+[](const uint64_t*, int, CUstream) { return CUDA_SUCCESS; });
    }
};
using Batches = Thunk<Batch, CUresult(const uint64_t*, int, CUstream)>;

CUstream stream(uint64_t value) { return reinterpret_cast<CUstream>(value); }
CUresult succeed(CUstream, int) { return CUDA_SUCCESS; }

}  // namespace

TEST_CASE("a call is one event, complete when it has returned", "[thunk]") {
    static const Slot* open;
    Recording recording;
    open = &recording.slot(0);
    body = [](CUstream, int) {
        // While the call is under way, whoever reads the ring sees that it was entered.
        CHECK(open->mark == open_mark(0));
        CHECK(open->exit == 0);
        return CUDA_SUCCESS;
    };
    CHECK(Sync::call(stream(5), 6) == CUDA_SUCCESS);
    REQUIRE(recording.count() == 1);
    const Slot& slot = recording.slot(0);
    CHECK(recording.complete(0));
    CHECK(slot.api == api_cuStreamSynchronize);
    CHECK(slot.kind == static_cast<uint8_t>(EventKind::sync));
    CHECK(slot.flags == 0);
    CHECK(slot.context == 9);
    CHECK(slot.word[0] == 5);
    CHECK(slot.word[1] == 6);
    CHECK(slot.exit >= slot.enter);
}

TEST_CASE("the result of a failed call is kept, and given back", "[thunk]") {
    Recording recording;
    body = [](CUstream, int) { return CUDA_ERROR_INVALID_VALUE; };
    CHECK(Sync::call(stream(5), 6) == CUDA_ERROR_INVALID_VALUE);
    CHECK(recording.slot(0).flags == kFailed);
    CHECK(recording.slot(0).word[3] == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("nothing is recorded while the shim is dark", "[thunk]") {
    Recording recording;
    recording.page().doing = kDark;
    body = succeed;
    CHECK(Sync::call(stream(5), 6) == CUDA_SUCCESS);
    CHECK(recording.count() == 0);
}

TEST_CASE("the driver calling itself is not recorded", "[thunk]") {
    NEEDS_FRAMES();
    Recording recording;
    body = [](CUstream s, int depth) { return depth == 0 ? CUDA_SUCCESS : Sync::call(s, depth - 1); };
    CHECK(Sync::call(stream(1), 3) == CUDA_SUCCESS);
    CHECK(recording.count() == 1);
    CHECK(Sync::call(stream(1), 3) == CUDA_SUCCESS);
    CHECK(recording.count() == 2);
}

namespace {
// Further down the stack than the call that was left.
[[gnu::noinline]] void call_deeper(int depth) {
    volatile char filler[256];
    std::memset(const_cast<char*>(filler), depth, sizeof filler);
    if (depth > 0) return call_deeper(depth - 1);
    Sync::call(stream(2), filler[0]);
}
}  // namespace

TEST_CASE("a call left by an exception does not hide the next ones", "[thunk]") {
    NEEDS_FRAMES();
    Recording recording;
    body = [](CUstream, int) -> CUresult { throw std::runtime_error("out of a callback"); };
    CHECK_THROWS_AS(Sync::call(stream(1), 0), std::runtime_error);
    CHECK_FALSE(recording.complete(0));
    body = succeed;
    Sync::call(stream(2), 0);
    CHECK(recording.complete(1));
    body = [](CUstream, int) -> CUresult { throw std::runtime_error("again"); };
    CHECK_THROWS_AS(Sync::call(stream(1), 0), std::runtime_error);
    body = succeed;
    call_deeper(4);
    CHECK(recording.complete(3));
}

TEST_CASE("a call left by longjmp does not hide the next ones", "[thunk]") {
    NEEDS_FRAMES();
    static jmp_buf back;
    Recording recording;
    body = [](CUstream, int) -> CUresult { std::longjmp(back, 1); };
    if (setjmp(back) == 0) Sync::call(stream(1), 0);
    body = succeed;
    call_deeper(4);
    CHECK(recording.count() == 2);
    CHECK(recording.complete(1));
}

TEST_CASE("a child forked inside a call leaves its parent's event alone", "[thunk]") {
    static ProcessState* page;
    Recording recording;
    page = &recording.page();
    body = [](CUstream, int) {
        page->generation = 0;  // what a fork leaves of it
        return CUDA_SUCCESS;
    };
    Sync::call(stream(1), 0);
    CHECK(recording.count() == 1);
    CHECK_FALSE(recording.complete(0));
    CHECK(recording.slot(0).exit == 0);
}

TEST_CASE("the end of a capture that began unseen is not counted", "[thunk]") {
    using Begin = Thunk<Row<EventKind::capture, traits::capture_begins>, CUresult(CUstream, int)>;
    using End = Thunk<Row<EventKind::capture, traits::capture_ends>, CUresult(CUstream, int)>;
    Recording recording;
    body = succeed;
    End::call(stream(1), 0);
    CHECK_FALSE(captures_active());
    Begin::call(stream(1), 0);
    CHECK(captures_active());
    End::call(stream(1), 0);
    CHECK_FALSE(captures_active());
}

TEST_CASE("polls of one handle share an event until it is ready", "[thunk]") {
    Recording recording;
    body = [](CUstream, int value) { return value != 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; };
    for (int i = 0; i < 10; ++i) Query::call(stream(4), 1);
    CHECK(recording.count() == 1);
    CHECK_FALSE(recording.complete(0));
    CHECK(recording.slot(0).exit != 0);
    Query::call(stream(4), 0);
    CHECK(recording.complete(0));
    CHECK(recording.slot(0).word[0] == 4);
    CHECK(recording.slot(0).word[1] == 11);
    CHECK(recording.slot(0).word[2] <= recording.slot(0).exit - recording.slot(0).enter);
    CHECK(recording.slot(0).flags == 0);
    // All of it is a wait: the polls and what lies between them.
    CHECK(recording.header().wait_ticks == recording.slot(0).exit - recording.slot(0).enter);
    SECTION("another handle begins another") {
        Query::call(stream(4), 1);
        Query::call(stream(5), 1);
        CHECK(recording.count() == 3);
        CHECK(recording.complete(1));
    }
    SECTION("any other event ends it") {
        Query::call(stream(4), 1);
        Sync::call(stream(4), 0);
        Query::call(stream(4), 1);
        CHECK(recording.count() == 4);
        CHECK(recording.complete(1));
        CHECK(recording.slot(3).word[1] == 1);
    }
}

TEST_CASE("what uploads a graph or moves memory lies between operations", "[thunk]") {
    const auto fences = [](ApiId api) {
        return fence_word(api_traits[api].kind, api_traits[api].traits) != kNoStream;
    };
    CHECK(fences(api_cuGraphUpload));
    CHECK(fences(api_cuMemPrefetchAsync));
    CHECK_FALSE(fences(api_cuStreamIsCapturing));
    CHECK_FALSE(fences(api_cuStreamSynchronize));
}

TEST_CASE("copies of a batch lie between operations, recorded or not", "[thunk]") {
    const uint64_t targets[3] = {0x1000, 0x2000, 0x3000};
    const uint32_t slots = GENERATE(64u, 2u);  // room for all, and for two
    Recording recording(slots);
    recording.page().timing = 1;
    recording.page().window_until = UINT64_MAX;
    StreamUse* use = hold(key_of(thread_state, 0x5000, false), thread_state);
    REQUIRE(use != nullptr);
    const uint32_t before = use->uses;
    CHECK(Batches::call(targets, 3, stream(0x5000)) == CUDA_SUCCESS);
    CHECK(recording.count() == (slots < 3 ? slots : 3));
    CHECK(use->uses == before + 3);
    release(*use);
}

TEST_CASE("calls inside NCCL carry its number, those beside it none", "[thunk]") {
    NEEDS_FRAMES();
    Recording recording;
    body = [](CUstream s, int inner) { return inner != 0 ? Sync::call(s, 0) : CUDA_SUCCESS; };
    Collective::call(stream(1), 1);
    Sync::call(stream(1), 0);
    REQUIRE(recording.count() == 3);
    const uint32_t group = recording.slot(0).group;
    CHECK(group != 0);
    CHECK(recording.slot(1).group == group);
    CHECK(recording.slot(1).flags == kInsideNccl);
    CHECK(recording.slot(2).group == 0);
    CHECK(recording.slot(2).flags == 0);
    Collective::call(stream(1), 0);
    CHECK(recording.slot(3).group != group);
}

TEST_CASE("a group of NCCL's is one number from its start to its end", "[thunk]") {
    NEEDS_FRAMES();
    Recording recording;
    body = [](CUstream s, int inner) { return inner != 0 ? Sync::call(s, 0) : CUDA_SUCCESS; };
    Begins::call(stream(0), 0);
    Collective::call(stream(1), 0);
    Begins::call(stream(0), 0);
    Ends::call(stream(0), 0);
    Sync::call(stream(7), 0);  // the program's own, between its calls of NCCL
    Ends::call(stream(0), 1);  // where the work is really launched
    Collective::call(stream(1), 0);
    const uint32_t group = recording.slot(0).group;
    const size_t in_it[] = {1, 2, 3, 5, 6};
    for (const size_t i : in_it) CHECK(recording.slot(i).group == group);
    CHECK(recording.slot(4).group == 0);
    CHECK(recording.slot(7).group != group);
}

TEST_CASE("NCCL left by an exception does not own the calls that follow", "[thunk]") {
    Recording recording;
    body = [](CUstream, int) -> CUresult { throw std::runtime_error("out of NCCL"); };
    CHECK_THROWS_AS(Collective::call(stream(1), 0), std::runtime_error);
    body = succeed;
    Sync::call(stream(1), 0);
    CHECK(recording.slot(1).group == 0);
}

}  // namespace thunk_test
