#include "engine.h"

#include <pthread.h>

#include <algorithm>
#include <list>

#include "box_state.h"
#include "box_thread.h"
#include "mover.h"
#include "profile.h"
#include "truth.h"

namespace gpusim {

// Defined here and nowhere inline: each library of the box would have its own.
std::atomic<int> Fault::how_many{0};

void Point::join(const Point& other) {
    end_ns = std::max(end_ns, other.end_ns);
    moves = std::max(moves, other.moves);
    open.insert(open.end(), other.open.begin(), other.open.end());
}

void Point::settle() {
    std::erase_if(open, [this](const std::shared_ptr<Operation>& op) {
        if (!op->known) return false;
        end_ns = std::max(end_ns, op->end_ns);
        moves = std::max(moves, op->moves);
        return true;
    });
}

namespace engine {
namespace {

constexpr Ns kAttendEvery = 2'000'000;  // how late another rank's news may be noticed when no bell rang
// A stepped query gives up waiting for a rank that is itself waiting.
constexpr Ns kUnknownIsNotYet = 2'000'000'000;

// Lives for ever: the attendant and late callers use it during exit.
struct State {
    std::mutex mutex;
    std::list<std::shared_ptr<Operation>>
        open;  // in the order of issue: an operation only comes after earlier ones
    WakeWord something_open;
};

State& state() {
    static State* const s = new State;
    return *s;
}

bool settle(Operation& op) {
    std::erase_if(op.after, [&op](const std::shared_ptr<Operation>& before) {
        if (!before->known) return false;
        op.earliest_ns = std::max(op.earliest_ns, before->end_ns);
        op.moves = std::max(op.moves, before->moves);
        return true;
    });
    return op.after.empty();
}

bool times_known(Operation& op) {
    if (op.behaviour == nullptr) {
        op.start_ns = op.earliest_ns;
        op.end_ns = op.start_ns + op.duration_ns;
        return true;
    }
    if (!op.arrived) {
        op.arrived = true;
        op.behaviour->arrive(op.earliest_ns);
    }
    const auto outcome = op.behaviour->outcome();
    if (!outcome) return false;
    op.start_ns = outcome->start_ns;
    op.end_ns = outcome->end_ns;
    op.error = outcome->error;
    op.bytes = op.behaviour->bytes();
    return true;
}

void move_bytes(Operation& op) {
    if (op.behaviour != nullptr)
        op.moves = mover::push([behaviour = op.behaviour] { behaviour->move(); }, op.bytes);
    else if (op.move)
        op.moves = mover::push(std::move(op.move), op.bytes);
    op.move = nullptr;
    op.behaviour = nullptr;
}

void report(const Operation& op) {
    if (op.error != 0 && op.fault != nullptr && op.fault->error == 0) {
        *op.fault = {op.error, op.end_ns};
        ++Fault::how_many;
    }
    if (op.silent) return;
    const bool is_copy = op.op[1] == '2';  // h2d, d2h, d2d, p2p, h2h
    box::count_busy(op.device, is_copy ? Engine::copy : Engine::compute, op.start_ns, op.end_ns);
    truth::known(op);
    profile::known(op);
}

bool resolve(Operation& op) {
    if (!settle(op) || !times_known(op)) return false;
    op.known = true;
    move_bytes(op);
    report(op);
    return true;
}

Point end_of(const Operation& op) { return {op.end_ns, op.moves, {}}; }

void attendant() {
    for (;;) {
        const uint32_t idle = state().something_open.value();
        const uint32_t bell = box::bell();
        bool open;
        {
            const Lock held = lock();
            pump();
            open = !state().open.empty();
        }
        if (open)
            box::wait_bell(bell, kAttendEvery);
        else
            state().something_open.wait(idle);
    }
}

// A bound for the end of an operation that is still open: what it comes after and what it says itself.
Ns not_before(const Operation& op) {
    Ns bound = op.earliest_ns;
    for (const auto& before : op.after)
        bound = std::max(bound, before->known ? before->end_ns : not_before(*before));
    if (op.arrived && op.behaviour != nullptr) bound = std::max(bound, op.behaviour->not_before());
    return bound;
}

// Stepped time must not depend on how fast other processes are: wait (really) until their times are known or
// lie certainly after now.
void wait_until_decided(Point& point, Lock& held) {
    Ns patience = kUnknownIsNotYet;
    while (!point.open.empty() && patience > 0) {
        Ns bound = 0;
        for (const auto& op : point.open) bound = std::max(bound, not_before(*op));
        if (bound > clock::now()) return;
        const uint32_t bell = box::bell();
        held.unlock();
        box::wait_bell(bell, kAttendEvery);
        held.lock();
        patience -= kAttendEvery;
        pump();
        point.settle();
    }
}

}  // namespace

Lock lock() { return Lock(state().mutex); }

Point issue(Operation op, std::initializer_list<const Point*> after) {
    for (const Point* point : after) {
        op.earliest_ns = std::max(op.earliest_ns, point->end_ns);
        op.moves = std::max(op.moves, point->moves);
        op.after.insert(op.after.end(), point->open.begin(), point->open.end());
    }
    if (!op.silent) {
        truth::issued(op);
        profile::issued(op);
    }
    if (resolve(op)) return end_of(op);
    const auto kept = std::make_shared<Operation>(std::move(op));
    state().open.push_back(kept);
    attend();
    return {0, 0, {kept}};
}

bool pump() {
    bool any = false;
    for (bool again = true; again;) {
        again = false;
        for (auto op = state().open.begin(); op != state().open.end();) {
            const bool known = resolve(**op);
            again = again || known;
            op = known ? state().open.erase(op) : std::next(op);
        }
        any = any || again;
    }
    return any;
}

bool reached(Point& point, Lock& held) {
    if (!point.open.empty()) {
        pump();
        point.settle();
        if (clock::stepped()) wait_until_decided(point, held);
    }
    return point.open.empty() && clock::now() >= point.end_ns && mover::done(point.moves);
}

void wait(Point& point, Lock& held) {
    for (;;) {
        const uint32_t bell = box::bell();
        if (!point.open.empty()) pump();
        point.settle();
        if (point.open.empty()) break;
        held.unlock();
        box::wait_bell(bell, kAttendEvery);
        pthread_testcancel();  // as a driver's own sleep would be
        held.lock();
    }
    held.unlock();
    mover::wait(point.moves);
    clock::sleep_until(point.end_ns);
    held.lock();
}

void attend() {
    static const bool started = start_box_thread("gpusim-attend", attendant);
    (void)started;
    state().something_open.wake();
}

}  // namespace engine
}  // namespace gpusim
