// Which copies to a device bring a step's input: those in batches (copies of one thread with no kernel
// between them) that come in nearly every step at the same place.
//
//   step 7     |H k k k h k k     batches: 0 (H, 12 MiB), 1 (h, 64 bytes)
//   step 8     |H k k k k k
//   step 9     |H k k k h k k     place 0 is input: it came three times in three; 64 bytes are no input
//
// A batch counts if one of its copies has at least 64 KiB, or is the largest of its step. What is in it does
// not matter else: sizes may change from step to step. Where the run has no steps, copies are input whose
// size came before, if they are that large, or the largest of their thread so far.
//
// `see` learns from the run as it was recorded, `take` asks, at the same calls, later or at once. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>

#include "../pass/facts.h"

namespace gpushim::analysis {

class InputCopies {
  public:
    explicit InputCopies(const TraceFacts& facts) : are_slices_(facts.are_slices) {}

    void see(const Call& call) {
        if (call.kind == CallKind::operation && !stays(learning_, learning_thread_, call)) learn(call);
    }
    void begin() { asked_.clear(), asking_ = nullptr; }  // of a piece
    void take(const Call& call) {
        if (call.kind == CallKind::operation && !stays(asking_, asking_thread_, call)) ask(call);
    }
    // Of the calls taken: did that thread enter an input copy then?
    bool is_input(int64_t thread, int64_t enter_ns) const;
    void forget_before(int64_t t_ns);

  private:
    static constexpr size_t kPlaces = 64;      // of one step; the last stands for all behind it
    static constexpr size_t kSizes = 4096;     // of one thread
    static constexpr int64_t kLarge = 65'536;  // bytes
    struct Place {
        int64_t largest = 0;  // of the step at hand
        int64_t steps = 0;    // in which it counted
        int64_t first = 0;    // the first of them
    };
    // Where in its step a thread is.
    struct Position {
        int32_t step = kNoStep;
        size_t place = 0;  // of the batch at hand, or the next
        bool in_batch = false;

        // Nothing changes: neither it nor what came before it is a copy.
        bool stays(const Call& call) const {
            return call.step == step && !in_batch && call.type != OperationClass::h2d;
        }
        bool enters(const Call& call);  // … a step
        bool copies(const Call& call);  // it is a copy to a device
        size_t index() const { return std::min(place, kPlaces - 1); }
    };
    struct Learned {
        Position at;
        std::array<Place, kPlaces> places;
        int64_t steps = 0;
        std::unordered_map<int64_t, int64_t> sizes;  // how often each came
        int64_t largest = 0;
    };
    struct Asked {
        Position at;
        std::deque<int64_t> inputs;  // when they were entered
    };
    // Most calls are of the thread of the last one, which nothing of this is asked of.
    template <class Of>
    static bool stays(const Of* last, int64_t last_thread, const Call& call) {
        return last != nullptr && last_thread == call.thread_id && last->at.stays(call);
    }
    void learn(const Call& operation);
    void ask(const Call& operation);
    static void close_step(Learned& learned);
    bool recurs(const Learned& learned, const Position& at, int64_t bytes) const;

    bool are_slices_;
    std::unordered_map<int64_t, Learned> learned_;  // by thread
    std::unordered_map<int64_t, Asked> asked_;
    // The threads of the last calls; their places stay the same when others are added.
    Learned* learning_ = nullptr;
    Asked* asking_ = nullptr;
    int64_t learning_thread_ = 0, asking_thread_ = 0;
};

}  // namespace gpushim::analysis
