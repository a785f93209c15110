// A binary heap of small values by their `at_ns`: the earliest is first. std::push_heap and std::pop_heap
// take two to three times as long for the few entries that ours have. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpushim::analysis {

template <class Entry>
class MinHeap {
  public:
    bool empty() const { return count_ == 0; }
    const Entry& first() const { return entries_[0]; }
    // When the first and the second of them are; the end of time: there is none.
    int64_t first_at() const { return at(0); }
    int64_t second_at() const { return std::min(at(1), at(2)); }
    void set_first_at(int64_t at_ns) { entries_[0].at_ns = at_ns; }  // which stays the first
    void clear() { count_ = 0; }
    void push(const Entry& entry) {
        if (count_ == entries_.size()) entries_.resize(2 * count_ + 8);
        size_t i = count_++;
        for (; i != 0 && entries_[(i - 1) / 2].at_ns > entry.at_ns; i = (i - 1) / 2)
            entries_[i] = entries_[(i - 1) / 2];
        entries_[i] = entry;
    }
    void pop() {
        if (--count_ != 0) replace_first(entries_[count_]);
    }
    void replace_first(Entry entry) {
        size_t i = 0;
        for (size_t child; (child = 2 * i + 1) < count_; i = child) {
            if (child + 1 < count_) child += entries_[child + 1].at_ns < entries_[child].at_ns;
            if (entry.at_ns <= entries_[child].at_ns) break;
            entries_[i] = entries_[child];
        }
        entries_[i] = entry;
    }

  private:
    int64_t at(size_t i) const { return i < count_ ? entries_[i].at_ns : INT64_MAX; }

    std::vector<Entry> entries_;
    size_t count_ = 0;
};

}  // namespace gpushim::analysis
