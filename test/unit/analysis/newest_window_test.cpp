// What the newest window says of a GPU, of a trace that is drawn by hand.
#include "analysis/live/newest_window.h"

#include <atomic>
#include <catch2/catch.hpp>

#include "analysis/process/temporary.h"
#include "made_trace.h"

namespace newest_window_test {

using namespace gpushim::analysis;

constexpr int64_t kMs = 1'000'000;

// Steps of 100 ms that are marked, then an evaluation, which nothing marks.
//
//  ms        0    100   200   300   400   500               1400
//  marks     |     |     |     |     |     |
//  kernels   KKK   KKK   KKK   KKK   KKK   KKKKKKKKKKKKKKKKKK
//  window    |──────────────────────────────────────────────|
TEST_CASE("the newest window is of all that a GPU did in it, also behind the steps", "[newest_window]") {
    made::Made trace;
    trace.run("INSERT INTO process (pid, executable) VALUES (1, 'made')");
    trace.run("INSERT INTO name VALUES (8, 'layer', NULL)");
    trace.run("INSERT INTO handle VALUES (9, 'function', 9, 0, NULL, NULL, NULL, 8)");
    trace.run("INSERT INTO shape VALUES (1, 9, 1, 2, 3, 4, 32, 1, 1, 0, NULL, NULL, NULL, NULL)");
    for (int64_t i = 0; i <= 5; ++i)
        trace.run("INSERT INTO marker VALUES (" + std::to_string(i * 100 * kMs) +
                  ", 1, 'step', NULL, NULL, NULL, NULL, NULL, NULL, 0)");
    for (int64_t i = 0; i < 14; ++i) {
        const int64_t at_ns = (100 * i + 1) * kMs;
        trace.timed(at_ns, at_ns + 1000, at_ns + 8000, at_ns + (i < 5 ? 50 : 99) * kMs, 3);
    }
    trace.window(0, 1400 * kMs, 14, 14);
    trace.ends(1500 * kMs);
    const TemporaryFolder folder;
    const auto path = folder.path() / "shim.db";
    trace.run("VACUUM INTO '" + path.string() + "'");
    const std::atomic<bool> stop = false;
    const NewestWindows windows = read_newest_windows({path}, stop);
    const WindowOfTrace& window = windows.of.at(path);
    INFO(window.why);
    REQUIRE(window.gpus.size() == 1);
    CHECK(window.gpus.begin()->second.whole_ns >= 1200 * kMs);
    CHECK(window.gpus.begin()->second.whole_ns <= window.span.length_ns());
}

}  // namespace newest_window_test
