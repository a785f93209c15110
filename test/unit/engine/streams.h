// A stream of operations as the driver has it, for tests of the engine: a tail that each operation comes
// after.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "engine/engine.h"

namespace gpusim {

struct Stream {
    Point tail;

    // An operation of `duration_ns`, after this stream and `other`.
    Point add(Operation op, const Point* other = nullptr) {
        const auto held = engine::lock();
        const Point none;
        tail = engine::issue(std::move(op), {&tail, other != nullptr ? other : &none});
        return tail;
    }
    Point add(const char* word, Ns duration_ns, std::function<void()> move = nullptr) {
        Operation op;
        op.op = word;
        op.earliest_ns = clock::now();
        op.duration_ns = duration_ns;
        op.move = std::move(move);
        return add(std::move(op));
    }

    bool reached() {
        auto held = engine::lock();
        return engine::reached(tail, held);
    }
    void wait() {
        auto held = engine::lock();
        engine::wait(tail, held);
    }
};

// Runs when the test says so.
struct Told : Behaviour {
    void arrive(Ns ready_ns) override { ready = ready_ns, ++arrivals; }
    std::optional<Outcome> outcome() override { return answer; }
    Ns not_before() const override { return ready; }
    int64_t bytes() const override { return 77; }
    void move() override { ++moves; }

    std::optional<Outcome> answer;
    Ns ready = -1;
    int arrivals = 0, moves = 0;
};

inline Operation told_operation(std::shared_ptr<Behaviour> behaviour) {
    Operation op;
    op.op = "kernel";
    op.earliest_ns = clock::now();
    op.behaviour = std::move(behaviour);
    return op;
}

}  // namespace gpusim
