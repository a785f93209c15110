// What a source gives one after the other, asked of it before it is taken, by a thread of its own; or
// without one, at the moment: the same items in the same order. The source may fail: the taker is thrown
// that in its place. One thread takes; the source is nobody else's while this lives.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "handover.h"

namespace gpushim::analysis {

template <class Item>
class ReadAhead {
  public:
    // False: there are no more. What it is given to fill may be an item that was taken before.
    using Source = std::function<bool(Item&)>;

    ReadAhead(Source source, bool has_thread) : source_(std::move(source)) {
        if (!has_thread) return;
        try {
            thread_ = std::thread([this] { read(); });
        } catch (const std::system_error&) {
            // There can be no more threads: it goes on without.
        }
    }
    ~ReadAhead() {
        has_left_ = true;
        handover_.leave();
        if (thread_.joinable()) thread_.join();
    }
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    // Until it is asked again; nullptr: there are no more.
    Item* next() {
        if (!thread_.joinable()) return source_(item_) ? &item_ : nullptr;
        if (next_ == end_ && !fetch()) return nullptr;
        return next_++;
    }

  private:
    static constexpr size_t kAtOnce = 512, kMostAhead = 64 * kAtOnce;

    // As many of these as were read; the others' memory is there for more.
    struct Load {
        std::vector<Item> items;
        size_t count = 0;
    };

    bool fetch() {
        if (!load_.items.empty()) give_back(std::exchange(load_.items, {}));
        auto more = handover_.take();
        load_ = more ? std::move(*more) : Load();
        next_ = load_.items.data();
        end_ = next_ + load_.count;
        return more.has_value();
    }
    void give_back(std::vector<Item> items) {
        const std::lock_guard guard(spare_lock_);
        spare_.push_back(std::move(items));
    }
    std::vector<Item> some_memory() {
        {
            const std::lock_guard guard(spare_lock_);
            if (!spare_.empty()) {
                std::vector<Item> items = std::move(spare_.back());
                spare_.pop_back();
                return items;
            }
        }
        return std::vector<Item>(kAtOnce);
    }
    bool hand_over(Load& load) {
        const size_t count = load.count;
        return count == 0 || handover_.put(std::exchange(load, {}), count);
    }
    // What was read before a failure is handed over, too.
    void read() {
        Load load;
        std::exception_ptr failure;
        try {
            while (!has_left_) {
                if (load.items.empty()) load.items = some_memory();
                if (!source_(load.items[load.count])) break;
                if (++load.count == kAtOnce && !hand_over(load)) return;
            }
            hand_over(load);
        } catch (...) {
            failure = std::current_exception();
            try {
                hand_over(load);
            } catch (...) {  // no memory: the failure is told all the same
            }
        }
        handover_.end(failure);
    }

    Source source_;
    Handover<Load> handover_{kMostAhead};
    Item item_{};  // without a thread
    Load load_;    // of which these are left
    Item *next_ = nullptr, *end_ = nullptr;
    std::mutex spare_lock_;
    std::vector<std::vector<Item>> spare_;  // memory of loads that were taken
    std::atomic<bool> has_left_ = false;
    std::thread thread_;
};

}  // namespace gpushim::analysis
