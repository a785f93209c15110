// One gap of GPU 0 and what thread 1 did, in microseconds, for the tests of idle causes.
#pragma once

#include <ostream>

#include "analysis/idle/attribute.h"

namespace gpushim::analysis {

inline std::ostream& operator<<(std::ostream& out, const Piece& piece) {
    return out << name_of(piece.cause) << " " << piece.from_ns << ".." << piece.until_ns << " on "
               << piece.blocked_on;
}

}  // namespace gpushim::analysis

namespace idle_scene {

using namespace gpushim::analysis;

constexpr int64_t kUs = 1000;
constexpr int64_t kThread = 1;

inline Piece is(Cause cause, int64_t from_us, int64_t until_us, int32_t blocked_on = kNotSampled) {
    return {cause, from_us * kUs, until_us * kUs, blocked_on};
}

// An empty queue takes 5 us, at most 9; operations back to back are 3 apart.
struct Scene {
    HostLines lines;
    IdleFacts facts{{5 * kUs, 9 * kUs, 3 * kUs}, 0, {}};
    Gap gap{0, 0, 0, {}};

    HostLine& line() { return lines[kThread]; }
    Scene& call(What what, int64_t from_us, int64_t until_us, int32_t gpu = kNoGpu) {
        line().add(HostCall{what, from_us * kUs, until_us * kUs, gpu});
        return *this;
    }
    Scene& launch(int64_t from_us, int64_t until_us) { return call(What::launch, from_us, until_us, 0); }
    Scene& row(int64_t from_us, int64_t until_us, int64_t running_us, int64_t runqueue_us = 0,
               int32_t blocked_on = kNotSampled) {
        line().add(HostGap{from_us * kUs, until_us * kUs, running_us * kUs, runqueue_us * kUs, blocked_on});
        return *this;
    }
    // N, launched in [enter, exit).
    Scene& gap_before(int64_t from_us, int64_t until_us, int64_t enter_us, int64_t exit_us,
                      WaitsFor waits_for = WaitsFor::nothing) {
        gap = {0, from_us * kUs, until_us * kUs, Next{kThread, enter_us * kUs, exit_us * kUs}};
        gap.next->waits_for = waits_for;
        return *this;
    }
    Scene& input_copy_at(int64_t enter_us) {
        facts.is_input_copy = [enter_us](int64_t thread, int64_t enter_ns) {
            return thread == kThread && enter_ns == enter_us * kUs;
        };
        return *this;
    }
    Attributed ask() const { return attribute(gap, lines, facts); }
    std::vector<Piece> pieces() const { return ask().pieces; }
};

using Pieces = std::vector<Piece>;

}  // namespace idle_scene
