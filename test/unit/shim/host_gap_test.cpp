// Gaps between calls, on the stepped clock: what a thread ran is known to the nanosecond there. Calls are
// thunks around functions of our own.
#include "shim/ring/host_gap.h"

#include "box.h"
#include "engine/cpu_clock.h"
#include "plain_ring.h"
#include "shim/hooks/thunk.h"

namespace host_gap_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

constexpr const char* kStepped = "GPUSIM_CLOCK=stepped";
constexpr uint64_t kGap = 50'000;

// A ring in plain memory, and gaps recorded into it.
class Recording : public PlainRing {
  public:
    explicit Recording(uint32_t slots = 64) : PlainRing(slots) {
        page().clock_kind = choose_clock();
        page().next_pass = UINT64_MAX;
        begin_host_gaps(read_pair(static_cast<ClockKind>(page().clock_kind)));
        thread_state.context = 9;
    }
    bool is_gap(size_t i) const {
        return slot(i).kind == static_cast<uint8_t>(EventKind::gap) && slot(i).mark == complete_mark(i);
    }
    const Slot& gap_at(size_t i) const {
        REQUIRE(i < count());
        REQUIRE(is_gap(i));
        return slot(i);
    }
    size_t gaps() const {
        size_t all = 0;
        for (size_t i = 0; i < count(); ++i) all += is_gap(i) ? 1 : 0;
        return all;
    }
};

uint64_t blocked_in_call_ns = 0;
CUresult result_of_call = CUDA_SUCCESS;
CUresult body(CUstream) {
    gpusim_advance_ns(1'000);
    gpusim_block_ns(blocked_in_call_ns);
    return result_of_call;
}

template <EventKind Kind, ApiId Id>
struct Row {
    static constexpr ApiId id = Id;
    static constexpr EventKind kind = Kind;
    static constexpr uint32_t traits = 0;
    using Words = words::Words<words::arg<0>>;
    static void* real() { return reinterpret_cast<void*>(&body); }
};
using Sync = Thunk<Row<EventKind::sync, api_cuStreamSynchronize>, CUresult(CUstream)>;
using Record = Thunk<Row<EventKind::record, api_cuEventRecord>, CUresult(CUstream)>;
using Query = Thunk<Row<EventKind::query, api_cuStreamQuery>, CUresult(CUstream)>;

constexpr auto kStream = nullptr;

void call(uint64_t blocked_ns = 0) {
    blocked_in_call_ns = blocked_ns;
    Record::call(kStream);
}

int64_t running_ns(const Slot& gap) { return static_cast<int64_t>(gap.word[0] - gap.word[3]); }
uint64_t length(const Slot& gap) { return gap.exit - gap.enter; }

}  // namespace

//  call |  runs 30 us  |  blocked 40 us  | call
TEST_CASE("a gap is split into what the thread ran and what not", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    call();
    gpusim_advance_ns(30'000);
    gpusim_block_ns(40'000);
    blocked_in_call_ns = 0;
    Sync::call(kStream);
    REQUIRE(recording.count() == 3);
    const Slot& gap = recording.gap_at(2);
    CHECK(gap.enter == recording.slot(0).exit);
    CHECK(gap.exit == recording.slot(1).enter);
    CHECK(length(gap) == 70'000);
    CHECK(running_ns(gap) == 30'000);
    CHECK(gap.api == kNoApi);
    CHECK(gap.word[1] == (uint64_t{static_cast<uint8_t>(EventKind::record)} << 16 | api_cuEventRecord));
    CHECK(gap.word[2] == api_cuStreamSynchronize);
}

TEST_CASE("from 50 us on it is a gap", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    call();
    gpusim_advance_ns(kGap - 1);
    call();
    CHECK(recording.gaps() == 0);
    gpusim_advance_ns(kGap);
    call();
    CHECK(recording.gaps() == 1);
}

TEST_CASE("before the first call of a thread there is no gap", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    gpusim_advance_ns(10 * kGap);
    call();
    CHECK(recording.count() == 1);
}

//  |  sync: blocked 400 us  | runs 60 us |  launch: blocked 200 us  | runs 80 us |
TEST_CASE("what a call waited for belongs to no gap", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    call();
    blocked_in_call_ns = 400'000;
    Sync::call(kStream);
    gpusim_advance_ns(60'000);
    call(200'000);
    CHECK(running_ns(recording.gap_at(3)) == 60'000);
    gpusim_advance_ns(80'000);
    call();
    CHECK(running_ns(recording.gap_at(5)) == 80'000);
}

TEST_CASE("a wait that is shorter than a gap counts, too", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    call();
    blocked_in_call_ns = 20'000;
    Sync::call(kStream);
    gpusim_advance_ns(60'000);
    call();
    CHECK(running_ns(recording.gap_at(3)) == 60'000);
}

//  call | blocked 40 us | call | blocked 40 us | … 10 ms | call | runs 2 ms | call
TEST_CASE("short blocks between calls are told from a gap, but for the last of them", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording(1024);
    for (int i = 0; i < 250; ++i) {
        call();
        gpusim_block_ns(40'000);
    }
    call();
    gpusim_advance_ns(2'000'000);
    call();
    REQUIRE(recording.gaps() == 1);
    const Slot& gap = recording.gap_at(recording.count() - 1);
    CHECK(running_ns(gap) <= 2'000'000);
    CHECK(running_ns(gap) >= static_cast<int64_t>(2'000'000 - kStaleGaps * kGap));
}

//  poll | blocked 100 us | poll | blocked 100 us | poll | runs 60 us | call
TEST_CASE("a thread that sleeps between polls has one row, and no gaps but the one after", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    blocked_in_call_ns = 0;
    result_of_call = CUDA_ERROR_NOT_READY;
    for (int i = 0; i < 3; ++i) {
        Query::call(kStream);
        gpusim_block_ns(100'000);
    }
    result_of_call = CUDA_SUCCESS;
    Query::call(kStream);
    CHECK(recording.count() == 1);
    CHECK(recording.slot(0).word[1] == 4);
    gpusim_advance_ns(60'000);
    call();
    REQUIRE(recording.count() == 3);
    CHECK(running_ns(recording.gap_at(2)) == 60'000);
}

TEST_CASE("a poll that begins after a gap goes on growing", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    call();
    gpusim_advance_ns(90'000);
    result_of_call = CUDA_ERROR_NOT_READY;
    for (int i = 0; i < 3; ++i) Query::call(kStream);
    result_of_call = CUDA_SUCCESS;
    CHECK(recording.count() == 3);
    CHECK(recording.slot(1).word[1] == 3);
    CHECK(running_ns(recording.gap_at(2)) == 90'000);
}

TEST_CASE("inside an NCCL call there are no gaps", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    call();
    gpusim_block_ns(2 * kGap);
    note_gap(thread_state, read_pair(kTestClock).ticks, api_cuEventRecord, kInsideNccl);
    CHECK(thread_state.gap.until == 0);
    note_gap(thread_state, read_pair(kTestClock).ticks, api_cuEventRecord, 0);
    CHECK(thread_state.gap.until != 0);
}

TEST_CASE("no gap reaches into a time in which the process rested", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    call();
    recording.page().doing = kResting;
    gpusim_block_ns(2 * kGap);
    recording.page().doing = kRecording;
    recording.page().resumed = read_pair(kTestClock).ticks;
    gpusim_block_ns(2 * kGap);
    call();
    CHECK(recording.gaps() == 0);
    gpusim_block_ns(2 * kGap);
    call();
    CHECK(recording.gaps() == 1);
}

TEST_CASE("a call that was lost is no gap, and no gap makes a call be lost", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording(8);
    recording.page().generation = 1;
    for (int i = 0; i < 4; ++i) {
        call();
        gpusim_block_ns(2 * kGap);
    }
    // Of eight slots four are calls; two are always left for the next call's sake.
    CHECK(recording.count() == 6);
    CHECK(recording.gaps() == 2);
    call();
    call();
    CHECK(recording.count() == 8);
    CHECK(recording.gaps() == 2);
    CHECK(recording.header().dropped[static_cast<size_t>(Drop::full)] == 0);
    call();
    CHECK(recording.header().dropped[static_cast<size_t>(Drop::full)] == 1);
    recording.header().tail = 8;
    gpusim_block_ns(2 * kGap);
    call();
    CHECK(recording.count() == 9);
}

TEST_CASE("what was of another process is forgotten", "[host_gap]") {
    box::knobs(kStepped);
    Recording recording;
    call();
    gpusim_block_ns(2 * kGap);
    thread_state.generation = 7;
    note_gap(thread_state, read_pair(kTestClock).ticks, api_cuEventRecord, 0);
    CHECK(thread_state.gap.until == 0);
    forget_gap(thread_state);
    thread_state.generation = 1;
    call();
    CHECK(recording.gaps() == 0);
}

TEST_CASE("how long calls and polls wait for a device is counted", "[host_gap]") {
    Recording recording;
    after_call(thread_state, 1'000, 1'400, EventKind::launch, api_cuLaunchKernel, false);
    CHECK(recording.header().wait_ticks == 0);
    after_call(thread_state, 2'000, 2'700, EventKind::sync, api_cuStreamSynchronize, true);
    CHECK(recording.header().wait_ticks == 700);
    before_poll(thread_state, 3'000);
    CHECK(recording.header().wait_ticks == 1'000);
}

TEST_CASE("in real time the thread's CPU clock tells, and what that takes is ours", "[host_gap]") {
    Recording recording;
    CHECK(recording.page().gap_ticks > 0);
    for (int tries = 0; tries < 50; ++tries) {
        call();
        const uint64_t before = recording.header().host_ticks;
        gpusim_block_ns(2'000'000);
        call();
        REQUIRE(recording.gaps() > 0);
        CHECK(recording.header().host_ticks > before);
        const Slot& gap = recording.gap_at(recording.count() - 1);
        const auto ticks_of_gap = static_cast<double>(length(gap));
        const double ns_per_tick = 50'000 / static_cast<double>(recording.page().gap_ticks);
        const double beside_ns = static_cast<double>(static_cast<int64_t>(gap.word[3])) * ns_per_tick;
        const double ran_ns = static_cast<double>(gap.word[0]) - beside_ns;
        if (ran_ns < 0.05 * ticks_of_gap * ns_per_tick) return;
    }
    FAIL("a sleeping thread was seen to run, fifty times");
}

}  // namespace host_gap_test
