// Which records of CUPTI's are an operation's: they carry the same number (cupti_callbacks.h). Either may
// come first. Several records of one operation are one span: a graph's nodes, the parts of a copy. Of a
// graph's first launch nobody knows when the last has come: it is waited for until none has for a while;
// others have as many.
// A record that would lie before its call or after its reading is of another clock: CUPTI has one for all
// tools, and another tool may have set it. It is counted, and its operation gets no times.
//
//            |== 1 ms ==| call ............................ read
//   ok            |===|     or  |===|      or         |===|
//   displaced  |===|                                       |===|
//
// Pure: told the time. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "../rows/observer.h"
#include "cupti_record.h"

namespace gpushim::shim {

struct JoinedOperation {
    TimedOperation operation;
    int64_t start_ns, end_ns;
    int64_t device;
    std::vector<DeviceRecord> nodes;  // of a graph
};

class RecordJoin {
  public:
    void add(const TimedOperation& operation, int64_t now_ns);  // its `end` is the number
    void add(const DeviceRecord& record, int64_t now_ns);

    // Those of which everything is known. `last`: nothing more comes. `lossy`: CUPTI has dropped records, so
    // a graph of which others like it had more may lack some, and gets no times.
    std::vector<JoinedOperation> take(int64_t now_ns, bool last, bool lossy);

    bool is_waiting() const { return !waiting_.empty(); }
    int64_t oldest_ns() const;  // begin of the oldest operation that waits; or for ever
    uint64_t unclaimed() const { return unclaimed_; }  // records whose operation never came
    uint64_t displaced() const { return displaced_; }  // records of another clock

    static constexpr int64_t kQuietNs = 2'000'000'000;         // then a graph has no more records
    static constexpr int64_t kLongestWaitNs = 10'000'000'000;  // then neither record nor operation comes
    static constexpr int64_t kEarliestNs = 1'000'000;          // before its call: the clocks' errors
    static constexpr size_t kMostGraphs = 1 << 12;             // whose nodes are counted
    static constexpr size_t kMostEarly = 1 << 16;              // records that came before their operation

  private:
    struct Waiting {
        JoinedOperation joined;
        int64_t records = 0;
        int64_t since_ns = 0;       // when it, or its newest record, came
        bool is_displaced = false;  // one of its records is
    };
    struct Early {
        DeviceRecord record;
        int64_t since_ns;
    };
    void join(Waiting& waiting, const DeviceRecord& record);
    bool is_whole(const Waiting& waiting, int64_t now_ns) const;
    bool lacks_nodes(const Waiting& waiting, bool lossy);
    void forget_early(int64_t now_ns);
    void give_up(uint32_t number);

    std::unordered_map<uint32_t, Waiting> waiting_;
    std::deque<Early> early_;
    std::unordered_multimap<uint32_t, DeviceRecord*> early_of_;
    std::unordered_map<int64_t, int64_t> nodes_of_;  // graphs (TimedOperation::alike): the most there were
    uint64_t unclaimed_ = 0;
    uint64_t displaced_ = 0;
};

}  // namespace gpushim::shim
