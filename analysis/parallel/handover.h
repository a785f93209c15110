// Items handed from one thread to another, in the order in which they were given: as many as together weigh
// no more than agreed, or one that is heavier. The quicker of the two waits; a giver who had no room until
// half of it is free, so that the two do not wake each other for every item.
//
//   giver   put ─▶ [ item item item ] ─▶ take   taker
//           end ─▶ no more of them;  leave ◀─   no more are wanted
//
// One giver and one taker; each calls what is named beside it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace gpushim::analysis {

template <class Item>
class Handover {
  public:
    explicit Handover(size_t most_weight) : most_(most_weight) {}

    // False: the taker has left, the item is gone.
    bool put(Item item, size_t weight) {
        std::unique_lock guard(lock_);
        if (weight_ + weight > most_)
            has_room_.wait(guard,
                           [&] { return has_left_ || items_.empty() || weight_ + weight <= most_ / 2; });
        if (has_left_) return false;
        items_.push_back({std::move(item), weight});
        weight_ += weight;
        has_more_.notify_one();
        return true;
    }
    // The taker is thrown the failure, behind all items.
    void end(std::exception_ptr failure = nullptr) {
        const std::lock_guard guard(lock_);
        has_ended_ = true;
        failure_ = std::move(failure);
        has_more_.notify_one();
    }

    // None: there are no more.
    std::optional<Item> take() {
        std::unique_lock guard(lock_);
        has_more_.wait(guard, [&] { return has_ended_ || !items_.empty(); });
        if (items_.empty()) {
            if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
            return {};
        }
        std::optional<Item> item(std::move(items_.front().first));
        weight_ -= items_.front().second;
        items_.pop_front();
        has_room_.notify_one();
        return item;
    }
    void leave() {
        const std::lock_guard guard(lock_);
        has_left_ = true;
        has_room_.notify_one();
    }

  private:
    const size_t most_;
    std::mutex lock_;
    std::condition_variable has_room_, has_more_;
    std::deque<std::pair<Item, size_t>> items_;
    size_t weight_ = 0;
    bool has_ended_ = false, has_left_ = false;
    std::exception_ptr failure_;
};

}  // namespace gpushim::analysis
