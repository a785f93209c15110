// Parts on a thread of their own: given the same in the same order, some calls at a time.
//
//   calls    c c c c c c c c │ c c c …      a load is what lies between two bars, and is handed over whole
//   pieces         ▲     ▲                  each behind the call that showed that it was over
//
// One thread, until finish().
#pragma once

#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "../../parallel/handover.h"
#include "all_parts.h"

namespace gpushim::analysis {

class PartsBeside {
  public:
    explicit PartsBeside(Parts& parts) : parts_(parts), thread_([this] { work(); }) {}
    ~PartsBeside() {
        loads_.end();
        if (thread_.joinable()) thread_.join();
    }
    PartsBeside(const PartsBeside&) = delete;
    PartsBeside& operator=(const PartsBeside&) = delete;

    void see(const Call& call) {
        if (load_.calls.empty()) load_.calls.reserve(kAtOnce);
        load_.calls.push_back(call);
        if (load_.calls.size() == kAtOnce) hand_over();
    }
    std::vector<Call> piece(TimedSpan::Contents contents) {
        load_.weight += contents.calls.size();
        load_.pieces.push_back({load_.calls.size(), std::move(contents)});
        const std::lock_guard guard(lock_);
        return std::exchange(spare_, {});
    }
    // The parts have been given all of it. Throws what one of them has thrown.
    void finish() {
        hand_over();
        loads_.end();
        thread_.join();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    static constexpr size_t kAtOnce = 1024, kMostWaiting = 200'000;  // calls
    struct Load {
        std::vector<Call> calls;
        struct Piece {
            size_t behind;  // so many of the calls
            TimedSpan::Contents contents;
        };
        std::vector<Piece> pieces;
        size_t weight = 0;
    };

    void hand_over() {
        const size_t weight = load_.weight + load_.calls.size();
        if (loads_.put(std::exchange(load_, {}), weight)) return;
        thread_.join();
        std::rethrow_exception(failure_);
    }
    void work() {
        try {
            while (auto load = loads_.take()) give(*load);
        } catch (...) {
            failure_ = std::current_exception();
        }
        loads_.leave();
    }
    void give(Load& load) {
        size_t seen = 0;
        const std::span<const Call> calls(load.calls);
        const auto see_until = [&](size_t end) {
            parts_.see_all(calls.subspan(seen, end - seen));
            seen = end;
        };
        for (Load::Piece& piece : load.pieces) {
            see_until(piece.behind);
            std::vector<Call> memory = parts_.piece(std::move(piece.contents));
            const std::lock_guard guard(lock_);
            spare_ = std::move(memory);
        }
        see_until(load.calls.size());
    }

    Parts& parts_;
    Load load_;
    Handover<Load> loads_{kMostWaiting};
    std::mutex lock_;
    std::vector<Call> spare_;  // the memory of the last piece's calls
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace gpushim::analysis
