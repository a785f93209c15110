// What a source gives one after the other, asked of it before it is taken, by a thread of its own; or
// without one, at the moment: the same items in the same order. The source may fail: the taker is thrown
// that in its place. One thread takes; the source is nobody else's while this lives.
#pragma once

#include <atomic>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "handover.h"

namespace gpushim::analysis {

template <class Item>
class ReadAhead {
  public:
    using Source = std::function<bool(Item&)>;  // false: there are no more

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
        if (next_ == items_.size() && !fetch()) return nullptr;
        return &items_[next_++];
    }

  private:
    static constexpr size_t kAtOnce = 512, kMostAhead = 64 * kAtOnce;

    bool fetch() {
        auto more = handover_.take();
        next_ = 0;
        items_ = more ? std::move(*more) : std::vector<Item>();
        return more.has_value();
    }
    // What was read before a failure is handed over, too.
    void read() {
        std::vector<Item> items;
        std::exception_ptr failure;
        const auto hand_over = [&] {
            const size_t count = items.size();
            return count == 0 || handover_.put(std::exchange(items, {}), count);
        };
        try {
            while (!has_left_) {
                if (items.empty()) items.reserve(kAtOnce);
                if (!source_(items.emplace_back())) {
                    items.pop_back();
                    break;
                }
                if (items.size() == kAtOnce && !hand_over()) return;
            }
            hand_over();
        } catch (...) {
            if (!items.empty()) items.pop_back();  // which failed
            failure = std::current_exception();
            try {
                hand_over();
            } catch (...) {  // no memory: the failure is told all the same
            }
        }
        handover_.end(failure);
    }

    Source source_;
    Handover<std::vector<Item>> handover_{kMostAhead};
    Item item_{};  // without a thread
    std::vector<Item> items_;
    size_t next_ = 0;
    std::atomic<bool> has_left_ = false;
    std::thread thread_;
};

}  // namespace gpushim::analysis
