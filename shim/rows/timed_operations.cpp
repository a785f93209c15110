#include "timed_operations.h"

#include <algorithm>
#include <tuple>

#include "../schema/flags.h"
#include "ranges.h"

namespace gpushim::shim {
namespace {

// For so many batches a slot waits for its operation.
constexpr uint64_t kMostBatches = 64;

Operation operation_of(EventKind kind) {
    switch (kind) {
        case EventKind::copy:
            return Operation::copy;
        case EventKind::memset:
            return Operation::memset;
        case EventKind::graph_launch:
            return Operation::graph_launch;
        default:
            return Operation::launch;
    }
}

// An asynchronous form waits, too, where the memory is pageable: to the device until all of it is staged,
// which of more than the staging buffer means until most of it is there; to the host until it is there.
bool waits_for_pageable(const row::copy& copy) {
    constexpr int64_t kStagedBytes = 64 << 10;
    constexpr int64_t kPageable = static_cast<int64_t>(Memory::pageable);
    return copy.sides >> 3 == kPageable || ((copy.sides & 7) == kPageable && copy.bytes > kStagedBytes);
}

void fill_from_row(TimedOperation& operation, const Tables& tables, size_t index) {
    const auto take = [&](const auto& rows, auto alike) {
        const auto row = rows.at(index);
        operation.enter_ns = row.enter_ns;
        operation.exit_ns = row.enter_ns + (row.dur_ns == kNull ? 0 : row.dur_ns);
        operation.stream_id = row.stream_id;
        operation.alike = alike(row);
        operation.blocking = (row.flags & kRowBlocking) != 0;
        operation.series = rows.extra_of(index);
    };
    switch (operation.operation) {
        case Operation::launch:
            return take(tables.launch, [](const row::launch& row) { return row.shape_id; });
        case Operation::graph_launch:
            return take(tables.graph_launch, [](const row::graph_launch& row) { return row.graph_id; });
        case Operation::copy:
            take(tables.copy, [](const row::copy& row) {
                return (row.bytes << 9) + (row.direction << 6) + row.sides;  // sides: kinds of memory
            });
            operation.blocking |= waits_for_pageable(tables.copy.at(index));
            return;
        case Operation::memset:
            return take(tables.memset, [](const row::memset& row) { return row.bytes; });
    }
}

void take_events(TimedOperation& operation, const Event& slot) {
    const auto words = words_of<event::timed>(slot.slot);
    operation.start = static_cast<uint32_t>(words.events);
    operation.end = static_cast<uint32_t>(words.events >> 32);
    operation.context = static_cast<uint32_t>(words.context);
    operation.recorded_ns = slot.exit_ns;
    operation.fenced = (words.context & kFenced) != 0;
}

}  // namespace

void TimedOperations::start_batch() {
    std::erase_if(waiting_, [&](const Waiting& slot) { return slot.batch == batch_; });
    for (Waiting& slot : waiting_) slot.is_paired = false;
    std::erase_if(newest_, [](const auto& of_ring) { return !of_ring.second.is_settled; });
    last_ = nullptr;
    last_ring_ = UINT64_MAX;
    pairs_.clear();
    list_.clear();
}

void TimedOperations::operation(const Event& event, const Rows& rows) {
    if (event.ring_id != last_ring_ || last_ == nullptr) last_ = &newest_[last_ring_ = event.ring_id];
    last_->position = event.position;
    last_->row = rows.count() - 1;
    last_->is_settled = false;
    last_->operation.operation = operation_of(static_cast<EventKind>(event.slot.kind));
    last_->operation.what = event.slot.word[0];
    if (!waiting_.empty()) pair_waiting(event.ring_id, *last_);
}

void TimedOperations::pair_waiting(uint64_t ring_id, const Newest& newest) {
    for (Waiting& slot : waiting_) {
        if (slot.ring_id != ring_id || slot.position != newest.position) continue;
        slot.is_paired = true;
        TimedOperation operation = slot.operation;
        operation.operation = newest.operation.operation;
        operation.what = newest.operation.what;
        pairs_.push_back({operation, newest.row});
    }
}

void TimedOperations::timed(const Event& event) {
    const uint64_t position = words_of<event::timed>(event.slot).position;
    const auto found = newest_.find(event.ring_id);
    const bool is_there = found != newest_.end() && found->second.position == position;
    TimedOperation operation = is_there ? found->second.operation : TimedOperation{};
    take_events(operation, event);
    if (!is_there)
        waiting_.push_back({event.ring_id, position, batch_, false, operation});
    else if (found->second.is_settled)
        list_.push_back(operation);
    else
        pairs_.push_back({operation, found->second.row});
}

void TimedOperations::settle(const Tables& tables) {
    for (Pair& pair : pairs_) {
        fill_from_row(pair.operation, tables, pair.row);
        list_.push_back(pair.operation);
    }
    for (auto& [ring, newest] : newest_) {
        if (newest.is_settled) continue;
        fill_from_row(newest.operation, tables, newest.row);
        newest.is_settled = true;
    }
    std::stable_sort(list_.begin(), list_.end(), [](const TimedOperation& a, const TimedOperation& b) {
        return std::tie(a.stream_id, a.enter_ns) < std::tie(b.stream_id, b.enter_ns);
    });
    for (Waiting& slot : waiting_) {
        if (slot.is_paired || batch_ - slot.batch < kMostBatches) continue;
        slot.is_paired = true;
        list_.push_back(slot.operation);
        list_.back().enter_ns = kNull;
    }
}

void TimedOperations::written() {
    std::erase_if(waiting_, [](const Waiting& slot) { return slot.is_paired; });
    ++batch_;
}

}  // namespace gpushim::shim
