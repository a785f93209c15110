// Stamps of events read on the box, in a context as the shim would visit it; and the rows of windows.
#include "shim/harvest/context_harvest.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "driver/core.h"
#include "shim/harvest/level_errors.h"
#include "shim/ring/ticks.h"
#include "shim/timing/contexts.h"
#include "shim/windows/window_rows.h"

namespace harvest_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kPause{50};
constexpr std::chrono::seconds kPatience{60};

class Visited {
  public:
    explicit Visited(const DriverCalls* calls = driver_calls()) : before_(process_state) {
        page_.clock_kind = kMonotonic;
        page_.timing = 1;
        process_state = &page_;
        context = make_context();
        const uint32_t number = context_number(reinterpret_cast<uint64_t>(context));
        pool = make_pool(number, context);
        REQUIRE(calls != nullptr);
        harvest = std::make_unique<ContextHarvest>(number, *pool, *calls,
                                                   [](int64_t) { return stamp_gaps_of("Simulated GPU"); });
    }
    ~Visited() { process_state = before_; }
    Visited(const Visited&) = delete;
    Visited& operator=(const Visited&) = delete;

    bool visit(bool ending = false) { return harvest->visit({trace_now_ns(), 0, ending}); }

    // On a busy machine a visit can find that the device takes too long to be asked for the time, and many
    // such visits are over before the device gets a processor.
    void open_clock() {
        for (const auto until = Clock::now() + kPatience; !harvest->has_clock() && Clock::now() < until;) {
            REQUIRE(visit());
            std::this_thread::sleep_for(kPause);
        }
        REQUIRE(harvest->has_clock());
    }
    std::vector<OperationRow> rows_of_last_visits() {
        std::vector<OperationRow> rows;
        for (const auto until = Clock::now() + kPatience; rows.empty() && Clock::now() < until;) {
            REQUIRE(visit(true));
            rows = harvest->take_rows();
        }
        return rows;
    }

    TimedOperation launch_timed(CUfunction function) {
        TimedOperation timed = {};
        timed.stream_id = 1;
        timed.start = pool->take();
        timed.end = pool->take();
        CU(cuEventRecord(pool->handle(timed.start), nullptr));
        timed.enter_ns = trace_now_ns();
        CU(launch(function, nullptr));
        timed.exit_ns = trace_now_ns();
        CU(cuEventRecord(pool->handle(timed.end), nullptr));
        harvest->add(timed);
        return timed;
    }

    CUcontext context = nullptr;
    EventPool* pool = nullptr;
    std::unique_ptr<ContextHarvest> harvest;

  private:
    ProcessState page_ = {};
    ProcessState* before_;
};

struct Batches {
    Clock::time_point returned;
    int in_a_row = 0, longest = 0, made = 0;
};
Batches batches;
constexpr int kEventsOfTheClock = 8;  // made once, after the first visit's

CUresult create_in_batches(CUevent* event, unsigned flags) {
    const bool has_paused = Clock::now() - batches.returned >= kPause;
    batches.in_a_row = has_paused ? 1 : batches.in_a_row + 1;
    batches.longest = std::max(batches.longest, batches.in_a_row);
    ++batches.made;
    const CUresult result = driver_calls()->cuEventCreate(event, flags);
    batches.returned = Clock::now();
    return result;
}

int slow_records = 0;  // that are still to come

CUresult record_slowly_at_first(CUevent event, CUstream stream) {
    if (slow_records-- > 0) std::this_thread::sleep_for(std::chrono::milliseconds(40));
    return driver_calls()->cuEventRecord(event, stream);
}

bool elapsed_fails = false;

CUresult elapsed_or_error(float* ms, CUevent start, CUevent end) {
    if (elapsed_fails) return CUDA_ERROR_LAUNCH_FAILED;
    return driver_calls()->cuEventElapsedTime(ms, start, end);
}

}  // namespace

TEST_CASE("a context gets its events and its clock, and the thread keeps its own context", "[harvest]") {
    box::knobs("GPUSIM_DEVICES=1");
    Visited visited;
    const CUcontext own = make_context();
    CHECK_FALSE(visited.harvest->has_clock());
    visited.open_clock();
    CHECK(visited.pool->made() >= 2048);
    CHECK(visited.harvest->device() == 0);
    CHECK(visited.harvest->has_clock());
    CHECK(visited.harvest->anchors().event_facts().ns > 0);
    CUcontext current = nullptr;
    CU(cuCtxGetCurrent(&current));
    CHECK(current == own);
}

// A machine that is busy makes more pauses, never fewer.
TEST_CASE("the program gets the driver's lock after each 128 events that we make", "[harvest]") {
    box::knobs("GPUSIM_DEVICES=1 GPUSIM_CALL_NS=0");
    const Visited visited;
    DriverCalls calls = *driver_calls();
    calls.cuEventCreate = &create_in_batches;
    ContextHarvest harvest(1, *visited.pool, calls, [](int64_t) { return stamp_gaps_of("Simulated GPU"); });
    while (visited.pool->made() < 8192) {
        batches.returned = {};  // between two visits the writer looks at other things
        REQUIRE(harvest.visit({trace_now_ns(), 0, false}));
    }
    CHECK(batches.made >= 8192);
    CHECK(batches.longest <= 128 + kEventsOfTheClock);
    CHECK(batches.longest > 1);
}

// On an H200 the mean of a stream's first eight was 2 to 26 us, where each later one took 1.2.
TEST_CASE("what recording takes is not what a driver's first events take", "[harvest]") {
    box::knobs("GPUSIM_DEVICES=1");
    const Visited visited;
    DriverCalls calls = *driver_calls();
    calls.cuEventRecord = &record_slowly_at_first;
    slow_records = 2;
    ContextHarvest harvest(1, *visited.pool, calls, [](int64_t) { return stamp_gaps_of("Simulated GPU"); });
    while (!harvest.has_clock()) REQUIRE(harvest.visit({trace_now_ns(), 0, false}));
    CHECK(slow_records < 0);
    CHECK(harvest.anchors().record_ns() < 5'000'000);
}

TEST_CASE("what is done has its times, and its events come back", "[harvest]") {
    box::knobs("GPUSIM_DEVICES=1");
    Visited visited;
    visited.open_clock();
    const TimedOperation timed = visited.launch_timed(kernel("short__200us"));
    CU(cuCtxSynchronize());
    const std::vector<OperationRow> rows = visited.rows_of_last_visits();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].operation.enter_ns == timed.enter_ns);
    CHECK(rows[0].times.start_low_ns >= timed.enter_ns);
    CHECK(rows[0].times.end_high_ns <= trace_now_ns());
    CHECK(rows[0].times.end_high_ns - rows[0].times.start_low_ns >= 200'000);
    CHECK(visited.pool->lives(timed.start) == 1);
    CHECK(visited.pool->lives(timed.end) == 1);
    CHECK(visited.harvest->oldest_ns() == INT64_MAX);
}

TEST_CASE("what still runs is left for later", "[harvest]") {
    box::knobs("GPUSIM_DEVICES=1");
    Visited visited;
    visited.open_clock();
    const TimedOperation timed = visited.launch_timed(kernel("long__100000us"));
    REQUIRE(visited.visit());
    CHECK(visited.harvest->take_rows().empty());
    CHECK(visited.harvest->has_work());
    CHECK(visited.harvest->oldest_ns() == timed.enter_ns);
    CU(cuCtxSynchronize());
    CHECK(visited.rows_of_last_visits().size() == 1);
}

TEST_CASE("events of what became no row are free again", "[harvest]") {
    box::knobs("GPUSIM_DEVICES=1");
    Visited visited;
    REQUIRE(visited.visit());
    TimedOperation lost = {};
    lost.enter_ns = kNull;
    lost.end = visited.pool->take();
    visited.harvest->add(lost);
    CHECK(visited.pool->lives(lost.end) == 1);
    CHECK_FALSE(visited.harvest->has_work());
}

// Told by the test, not by a number of calls: how many the clock needs depends on how busy the machine is.
TEST_CASE("an error of ours ends it for that context, and says of what", "[harvest]") {
    box::knobs("GPUSIM_DEVICES=1");
    DriverCalls calls = *driver_calls();
    calls.cuEventElapsedTime = &elapsed_or_error;
    Visited visited(&calls);
    visited.open_clock();
    for (int i = 0; i < 40; ++i) visited.launch_timed(kernel("short__20us"));
    CU(cuCtxSynchronize());
    elapsed_fails = true;
    REQUIRE_FALSE(visited.visit(true));
    CHECK(visited.pool->error() == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(visited.pool->failed_call() == std::string("cuEventElapsedTime"));
    CHECK(visited.pool->take() == kNoEvent);
}

TEST_CASE("a pool that was too small grows", "[harvest]") {
    box::knobs("GPUSIM_DEVICES=1");
    Visited visited;
    while (visited.pool->made() < 8192) REQUIRE(visited.visit());
    REQUIRE(visited.visit());
    CHECK(visited.pool->made() == 8192);
    for (int i = 0; i < 8193; ++i) visited.pool->take();
    REQUIRE(visited.visit());
    CHECK(visited.pool->made() == 16384);
}

TEST_CASE("bounds are rounded outwards, in few steps", "[level_errors]") {
    CHECK(rounded_up(0) == 0);
    CHECK(rounded_up(1) == 256);
    CHECK(rounded_up(256) == 256);
    CHECK(rounded_up(257) == 288);
    CHECK(rounded_up(1'000) == 1'024);
    CHECK(rounded_up(1'024) == 1'024);
    for (int64_t ns = 1; ns < 100'000'000; ns += ns / 7 + 1) {
        CHECK(rounded_up(ns) >= ns);
        if (ns > 256) CHECK(static_cast<double>(rounded_up(ns)) < static_cast<double>(ns) * 1.126);
    }
    LevelErrors errors("events");
    const OperationTimes times = {1'000, 2'000, false, 900, 1'100, 1'950, 2'100, 80};
    CHECK(errors.id(times, 2) == 1);
    CHECK(errors.id(times, 2) == 1);
    CHECK(errors.id(times, 1) == 2);
    CHECK(errors.rows.count() == 2);
}

TEST_CASE("too many combinations are told in larger steps, and their number ends", "[level_errors]") {
    CHECK(rounded_up(1'000, Steps::octaves) == 1'024);
    CHECK(rounded_up(1'025, Steps::octaves) == 2'048);
    CHECK(rounded_up(1'025, Steps::eight_octaves) == 65'536);
    CHECK(rounded_up(65'537, Steps::eight_octaves) == 1 << 24);
    LevelErrors errors("events", 10);
    const auto times = [](int64_t error_ns) {
        return OperationTimes{0, 0, false, -error_ns, error_ns, -error_ns, error_ns, error_ns};
    };
    const int64_t first = errors.id(times(300), 2);
    for (int64_t ns = 300; ns < 1'000'000'000'000; ns += ns / 10) {
        const int64_t id = errors.id(times(ns), 2);
        REQUIRE(id > 0);
        const row::level_error row = errors.rows.at(static_cast<size_t>(id - 1));
        CHECK(row.start_low_ns >= ns);
        CHECK(row.likely_ns >= ns);
    }
    CHECK(errors.rows.count() <= 26);
    CHECK(errors.id(times(300), 2) == first);  // what is known stays as exact
}

TEST_CASE("a window waits until everything in it is known", "[window_rows]") {
    //  window      |1000          2000|
    //  operations 900   1200   1800      2100
    WindowRows windows;
    for (const int64_t ns : {900, 1'200, 1'800, 2'100}) windows.given(0, ns);
    windows.timed(0, 900);
    windows.timed(0, 1'200);
    windows.add({1'000, 2'000, 7, 600, 55, 3});
    windows.finish(2'000, 1'800, 2'000, false);
    CHECK(windows.rows.count() == 0);  // one may still get times
    windows.finish(2'000, INT64_MAX, 1'999, false);
    CHECK(windows.rows.count() == 0);  // more may still come
    windows.timed(0, 1'800);
    windows.finish(2'000, INT64_MAX, 2'000, false);
    REQUIRE(windows.rows.count() == 1);
    const int64_t* row = windows.rows.row(0);
    CHECK(std::vector<int64_t>(row, row + 9) == std::vector<int64_t>{1'000, 0, 1'000, 7, 600, 2, 2, 3, 55});
    CHECK_FALSE(windows.has_open());
}

TEST_CASE("a window in which a device had nothing to do counts", "[window_rows]") {
    WindowRows windows;
    windows.device(1);
    windows.given(0, 2'500);
    windows.add({1'000, 2'000, 7, 600, 0, 0});
    windows.finish(2'000, INT64_MAX, 2'000, false);
    REQUIRE(windows.rows.count() == 2);
    for (size_t i = 0; i < 2; ++i) CHECK(windows.rows.at(i).operations == 0);
}

TEST_CASE("a window does not wait for ever", "[window_rows]") {
    WindowRows windows;
    windows.given(0, 1'500);
    windows.add({1'000, 2'000, kNull, 600, 0, 0});
    windows.finish(10'000'001'999, 0, 0, false);
    CHECK(windows.rows.count() == 0);
    SECTION("ten seconds") { windows.finish(10'000'002'000, 0, 0, false); }
    SECTION("the end") { windows.finish(3'000, 0, 0, true); }
    REQUIRE(windows.rows.count() == 1);
    CHECK(windows.rows.at(0).timed == 0);
}

TEST_CASE("a window as long as the run is counted in bounded memory", "[window_rows]") {
    WindowRows windows;
    for (int64_t i = 0; i < 1'000'000; ++i) windows.given(0, 5'000 + 10 * i);
    for (int64_t i = 0; i < 500'000; ++i) windows.timed(0, 5'000 + 20 * i);
    windows.add({5'000, 20'000'000, kNull, 0, 0, 0});
    windows.finish(0, INT64_MAX, INT64_MAX, false);
    REQUIRE(windows.rows.count() == 1);
    CHECK(windows.rows.at(0).operations == 1'000'000);
    CHECK(windows.rows.at(0).timed == 500'000);
}

}  // namespace harvest_test
