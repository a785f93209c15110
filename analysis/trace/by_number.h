// Values by numbers that were given out in order, as rows' ids are: a place in a vector, so nothing is
// searched. Numbers that are none of those (a damaged or strange file) are in a map. Read-only: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gpushim::analysis {

template <class Value>
class ByNumber {
  public:
    Value& operator[](int64_t number) {
        const uint32_t place = place_of(number);
        return place != kNone ? values_[place] : add(number);
    }
    const Value* find(int64_t number) const {
        if (static_cast<uint64_t>(number) >= places_.size()) return find_other(number);
        const uint32_t place = places_[static_cast<size_t>(number)];
        return place == kNone ? nullptr : &values_[place];
    }
    // In order of the number, but for those that are none of an order.
    template <class Take>
    void each(Take take) const {
        for (size_t number = 0; number < places_.size(); ++number)
            if (places_[number] != kNone) take(static_cast<int64_t>(number), values_[places_[number]]);
        for (const auto& [number, value] : others_) take(number, value);
    }
    Value get_or(int64_t number, Value other) const {
        const Value* found = find(number);
        return found == nullptr ? other : *found;
    }

  private:
    static constexpr int64_t kMost = 1 << 22;
    static constexpr uint32_t kNone = UINT32_MAX;

    uint32_t place_of(int64_t number) const {
        const bool is_in_order = static_cast<uint64_t>(number) < places_.size();
        return is_in_order ? places_[static_cast<size_t>(number)] : kNone;
    }
    // Not in line, so that who asks for a number saves nothing for this.
    [[gnu::noinline]] const Value* find_other(int64_t number) const {
        const auto found = others_.find(number);
        return found == others_.end() ? nullptr : &found->second;
    }
    [[gnu::noinline]] Value& add(int64_t number) {
        if (number < 0 || number >= kMost) return others_[number];
        const auto place = static_cast<size_t>(number);
        if (place >= places_.size()) places_.resize(place + 1, kNone);
        places_[place] = static_cast<uint32_t>(values_.size());
        return values_.emplace_back();
    }

    std::vector<uint32_t> places_;  // by number: in values_
    std::vector<Value> values_;
    std::unordered_map<int64_t, Value> others_;
};

}  // namespace gpushim::analysis
