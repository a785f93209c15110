// What each collective of a rank came after, and by how much: the longest ways to its launch on the host and
// to its begin on the GPU, from the launches and the ends of collectives before it. Two chains lead there,
// and each waits for the other where the program says so:
//
//   host      L1──works──[waits for C1]──works──L2          L2 = max(L1 + 9, C1 + 4)
//   comm         [─────────C1────────]         [──C2──]     begins at max(L2 + its latency,
//   compute        ███kernel███|r                           L1 + the kernel until r, C1)
//
// So a replay can begin collectives earlier and see how far the host lets them come (skew/replay.h). The ways
// hold what neither waits for: what operations took, the host's own time between calls and in them,
// latencies. A way is left out where another one leads through a third collective and is no shorter.
//
// `firm_ns` leaves out what the host may have waited for without a call that says so: time off its CPU,
// unless an input copy follows; the rest of calls that took unusually long.
//
// Calls in order of enter, of one piece. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "facts.h"

namespace gpushim::analysis {

// Of a rank. What comes behind is not replayed, and the report says so.
constexpr size_t kMostReplayed = 1 << 18;

struct WorkPath {
    int32_t from;  // number of a collective of this rank
    bool is_launch;
    int64_t own_ns, firm_ns;
};
struct WorkNode {
    int64_t group_id;
    int32_t piece;
    int64_t launch_ns, end_ns;  // in the piece's time
    uint64_t kind;              // of the calls since the collective before: the same calls have the same
    std::vector<WorkPath> launch, arrival;  // to its launch, and to its begin; empty: not known
};

class WorkPaths {
  public:
    explicit WorkPaths(const TraceFacts& facts);  // which must outlive this

    void begin();  // of a piece: forgets all but the nodes
    // `is_input`: an input copy. `take_turns`: host threads wait for each other.
    void take(const Call& call, bool before, bool is_input, bool take_turns);
    // Of the pieces so far; those that began before their piece have no paths.
    const std::vector<WorkNode>& nodes() const { return nodes_; }

  private:
    static constexpr int64_t kNever = INT64_MIN;
    static constexpr int32_t kOrigin = -2;  // the begin of the piece: as a launch
    struct Way {
        int32_t from;  // 2 * number of a collective; + 1: its end
        int64_t own_ns, firm_ns;
    };
    // The longest ways to one moment, none of which another one implies.
    class Front {
      public:
        Front() {}  // NOLINT(modernize-use-equals-default): ways that are not there have no values
        Front(const Front& other) : size_(other.size_) {
            std::copy(other.begin(), other.end(), ways_.begin());
        }
        Front& operator=(const Front& other) {
            size_ = other.size_;
            std::copy(other.begin(), other.end(), ways_.begin());
            return *this;
        }
        void set(int32_t from) { ways_[0] = {from, 0, 0}, size_ = 1; }
        void add(int64_t own_ns, int64_t firm_ns);
        void at_least(const Front& other);
        void lead_from(int32_t launch, int64_t later_ns);  // what leads from the origin, that much before it
        // Without the ways of which it is true.
        template <class Is>
        void remove(Is is) {
            const Front all = *this;
            size_ = 0;
            for (const Way& way : all)
                if (!is(way, all)) ways_[size_++] = way;
        }
        bool is_of_one_launch() const { return size_ == 1 && ways_[0].from % 2 == 0; }
        const Way* begin() const { return ways_.data(); }
        const Way* end() const { return ways_.data() + size_; }

      private:
        void put(const Way& way);
        std::array<Way, 12> ways_;
        size_t size_ = 0;
    };
    struct Moment {
        int64_t at_ns = kNever;
        Front front;
        void at_least(const Moment& other);
    };
    struct Stream {
        Moment tail;   // the end of its last operation
        Moment waits;  // what the next one must wait for beside that
    };
    // The longest ways to a launch or an end, through any others, from those shortly before it.
    struct Reach {
        int32_t to = -1;
        std::array<int64_t, 256> own_ns, firm_ns;  // by to - from
    };
    struct Gap {
        int64_t from_ns = kNever, blocked_ns = 0;
    };

    Moment& host_at(const Call& call, bool is_input, bool take_turns);
    int64_t doubt_ns(const Call& call, int64_t own_ns) const;
    void leave(Moment& host, const Call& call, int64_t outer_ns);
    void operation(const Call& call, bool before, Moment& host);
    void begin_collective(const Call& call, bool before, Moment& host);
    void sync(const Call& call, Moment& host);
    Moment awaited(const Call& call) const;
    Moment legacy_tail(int32_t lane) const;
    std::vector<WorkPath> paths_of(Front front) const;
    void remember(bool is_launch, const std::vector<WorkPath>& paths);
    bool is_implied(const Way& way, const Front& front) const;
    void leave_out_implied();
    void begin_at(int32_t launch);

    const TraceFacts& facts_;
    std::vector<Stream> streams_;                 // by lane
    std::unordered_map<int64_t, Moment> events_;  // by handle
    std::unordered_map<int64_t, Moment> hosts_;   // by thread, or one for all
    std::unordered_map<int64_t, Gap> gaps_;       // by thread: the last one that is recorded
    std::vector<WorkNode> nodes_;
    std::vector<Reach> reaches_;  // by what they lead to, in turn
    int32_t piece_ = -1;
    bool has_begun_ = false;  // with the first collective of the piece
    int64_t origin_ns_ = kNever, last_thread_ = -1;
    int64_t transfer_ns_ = 0;  // of the last collective, at least
    uint64_t kind_ = 0;
};

}  // namespace gpushim::analysis
