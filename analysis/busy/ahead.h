// What a device is given next, read ahead of those who go through the whole trace.
//
//   asked at     |                     |            the second answer is known from the first
//   device       ─────────────────────────────N──
//
// Times only grow, so all answers about a device together read the trace at most once. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "../trace/call.h"
#include "../trace/inputs.h"

namespace gpushim::analysis {

class Ahead {
  public:
    explicit Ahead(const Trace& trace) : trace_(trace) {}  // must outlive this

    // The device's first operation that was launched at or after then. None: there is none, or it has no
    // device times. Which step it is in and what it waited for is not said.
    std::optional<Call> first_of(int64_t device_id, int64_t from_ns);

  private:
    struct Answer {
        int64_t until_ns = INT64_MIN;  // asked for an earlier time it is the same
        std::optional<Call> call;
    };
    Answer look(int64_t device_id, int64_t from_ns) const;

    const Trace& trace_;
    std::map<int64_t, Answer> answers_;  // by device
};

}  // namespace gpushim::analysis
