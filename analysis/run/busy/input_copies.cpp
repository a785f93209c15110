#include "input_copies.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

// Nearly every step, since it came first.
bool is_nearly_all(int64_t steps, int64_t of) { return steps >= 2 && 5 * steps >= 4 * of; }

}  // namespace

bool InputCopies::Position::enters(const Call& call) {
    if (call.step == step) return false;
    *this = {call.step, 0, false};
    return true;
}

bool InputCopies::Position::copies(const Call& call) {
    const bool is_copy = call.type == OperationClass::h2d;
    if (in_batch && !is_copy) ++place;
    in_batch = is_copy;
    return is_copy;
}

void InputCopies::close_step(Learned& learned) {
    int64_t largest = 0;
    for (const Place& place : learned.places) largest = std::max(largest, place.largest);
    for (Place& place : learned.places) {
        if (place.largest != 0 && (place.largest >= kLarge || place.largest == largest)) {
            if (place.steps++ == 0) place.first = learned.steps;
        }
        place.largest = 0;
    }
    ++learned.steps;
}

void InputCopies::learn(const Call& call) {
    if (learning_ == nullptr || learning_thread_ != call.thread_id) {
        learning_ = &learned_[call.thread_id];
        learning_thread_ = call.thread_id;
    }
    Learned& learned = *learning_;
    const bool was_in_step = learned.at.step != kNoStep;
    if (learned.at.enters(call) && was_in_step) close_step(learned);
    if (!learned.at.copies(call) || call.bytes <= 0) return;
    if (are_slices_) {
        const bool counts = call.bytes >= kLarge || call.bytes >= learned.largest;
        learned.largest = std::max(learned.largest, call.bytes);
        if (counts && (learned.sizes.size() < kSizes || learned.sizes.contains(call.bytes)))
            ++learned.sizes[call.bytes];
        return;
    }
    if (learned.at.step == kNoStep) return;
    int64_t& largest = learned.places[learned.at.index()].largest;
    largest = std::max(largest, call.bytes);
}

bool InputCopies::recurs(const Learned& learned, const Position& at, int64_t bytes) const {
    if (are_slices_) {
        const auto size = learned.sizes.find(bytes);
        return size != learned.sizes.end() && size->second >= 2;
    }
    if (at.step == kNoStep) return false;
    const Place& place = learned.places[at.index()];
    return is_nearly_all(place.steps, learned.steps - place.first);
}

void InputCopies::ask(const Call& call) {
    if (asking_ == nullptr || asking_thread_ != call.thread_id) {
        asking_ = &asked_[call.thread_id];
        asking_thread_ = call.thread_id;
    }
    Asked& asked = *asking_;
    asked.at.enters(call);
    if (!asked.at.copies(call)) return;
    const auto learned = learned_.find(call.thread_id);
    if (learned != learned_.end() && recurs(learned->second, asked.at, call.bytes))
        asked.inputs.push_back(call.enter_ns);
}

bool InputCopies::is_input(int64_t thread, int64_t enter_ns) const {
    const auto asked = asked_.find(thread);
    if (asked == asked_.end()) return false;
    const auto& inputs = asked->second.inputs;
    return std::binary_search(inputs.begin(), inputs.end(), enter_ns);
}

void InputCopies::forget_before(int64_t t_ns) {
    for (auto& [thread, asked] : asked_)
        while (!asked.inputs.empty() && asked.inputs.front() < t_ns) asked.inputs.pop_front();
}

}  // namespace gpushim::analysis
