// A trace of more than is handed over at once.
#pragma once

#include <cstdint>
#include <string>

#include "made_trace.h"

namespace made_many_steps {

// Steps of 100 us with eight launches on two streams, more than are handed over at once; windows over several
// steps, and between them some without device times.
inline made::Made many_steps() {
    constexpr int64_t kUs = 1000;
    made::Made trace(2);
    trace.run("INSERT INTO name VALUES (9, 'layer', NULL)");
    trace.run("INSERT INTO handle VALUES (9, 'function', 9, 0, NULL, NULL, NULL, 9)");
    trace.run("INSERT INTO shape VALUES (1, 9, 1, 2, 3, 4, 32, 1, 1, 0, NULL, NULL, NULL, NULL)");
    trace.clock();
    trace.run("BEGIN");
    constexpr int64_t kSteps = 700, kLaunches = 8, kOfWindow = 50, kTimed = 30;
    for (int64_t step = 0; step < kSteps; ++step) {
        const int64_t at_ns = step * 100 * kUs;
        trace.run("INSERT INTO marker VALUES (" + std::to_string(at_ns) +
                  ", 1, 'step', NULL, 8, NULL, NULL, NULL, NULL, 0)");
        for (int64_t i = 1; i <= kLaunches; ++i) {
            const int64_t enter_ns = at_ns + i * 10 * kUs, start_ns = enter_ns + (3 + step % 7) * kUs;
            const int stream = i % 3 == 0 ? 2 : 1;
            if (step % kOfWindow < kTimed)
                trace.timed(enter_ns, enter_ns + kUs, start_ns, start_ns + 4 * kUs, 1, stream);
            else
                trace.launch(enter_ns, enter_ns + kUs, stream);
        }
        trace.sync(at_ns + 92 * kUs, at_ns + 97 * kUs);
        if (step % kOfWindow == 0)
            trace.window(at_ns, at_ns + kTimed * 100 * kUs, kTimed * kLaunches, kTimed * kLaunches);
    }
    trace.run("COMMIT");
    trace.ends(kSteps * 100 * kUs);
    return trace;
}

}  // namespace made_many_steps
