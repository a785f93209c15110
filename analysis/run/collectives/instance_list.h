// The instances of a communicator, of which a thousand ranks make millions of parts: these lie in the order
// of their instances, so that who goes through them reads a file, if they do not fit into memory, from its
// beginning to its end. Written by one thread, then put; read-only from then on, any thread.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

#include "../../collective/match.h"
#include "../../process/aside.h"
#include "comm_calls.h"

namespace gpushim::analysis {

class InstanceList {
  public:
    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = CollectiveInstance;
        using difference_type = std::ptrdiff_t;
        using pointer = const CollectiveInstance*;
        using reference = const CollectiveInstance&;

        Iterator(const InstanceList& list, size_t at);
        reference operator*() const { return now_; }  // until it goes on
        pointer operator->() const { return &now_; }
        Iterator& operator++();
        bool operator==(const Iterator& other) const { return at_ == other.at_; }
        size_t index() const { return at_; }

      private:
        void read();
        const InstanceList* list_;
        size_t at_;
        CollectiveInstance now_;
    };

    // Null: it has none. Where parts may lie that is the file, which outlives this.
    explicit InstanceList(Aside* aside = nullptr) : aside_(aside) {}

    void reserve(size_t instances);
    // With the calls of its parts, in their order.
    void add(const CollectiveInstance& instance, std::span<const CommCall* const> calls);
    void put();  // when all are there

    size_t size() const { return heads_.size(); }
    CollectiveInstance operator[](size_t i) const;
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size()}; }
    // Without their parts.
    std::span<const CollectiveInstance> heads() const { return heads_; }
    // Of a part that it gave: of a group the first call, with the time of all of them.
    const CommCall& call(const RankPart& part) const;

  private:
    struct Part {
        CommCall call;
        int rank;
    };
    struct Place {  // of the parts of an instance
        uint32_t piece, first, count;
    };
    void make(size_t i, CollectiveInstance& into) const;

    Aside* aside_;
    std::vector<CollectiveInstance> heads_;
    std::vector<Place> places_;
    std::vector<AsideArray<Part>> pieces_;
};

}  // namespace gpushim::analysis
