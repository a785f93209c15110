// Which calls of different ranks are one and the same operation: by the communicator's own sequence, never by
// order of time. One matcher for each communicator; ranks deliver their calls in the order they made them, in
// any interleaving, and the instances that come out are the same for all of them.
//
//   rank 0   #1 AllReduce 64     #2 AllReduce 64   #3 ┐ one group: one kernel     #5 …
//   rank 1   #1 AllReduce 64     #2 Broadcast 8    #4 ┘
//            instance, 2 of 2    a finding, and    instance of 2 calls, with their
//                                2 × "1 of 2"      bytes together
//
// Point-to-point calls are matched by (source, destination, sequence); what a rank sends to itself is none of
// these. What is remembered is what some rank has delivered and another one not yet. Not shared between
// threads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "../interval/interval.h"
#include "operation.h"

namespace gpushim::analysis {

struct CollectiveCall {
    CollectiveOp op;
    int64_t sequence;                // nth on its communicator, or of (communicator, source, destination)
    int64_t bytes;                   // as passed
    int64_t group;                   // calls of a rank with the same number share one kernel
    int peer = -1;                   // root, or the other rank of Send and Recv
    bool aborted = false;            // the communicator was aborted while it was open
    bool of_messages = false;        // an all-to-all with the number of its messages
    int64_t replays = 1;             // captured in a graph: the call is seen once and ran so often
    std::optional<Interval> device;  // of the kernel; a rank's own clock
    int64_t tag = -1;                // by which it is found again; of a group its first call's
    // Which this is of all that its ranks meet in, where all-to-alls of messages and others are numbered
    // apart.
    std::optional<int64_t> place = {};
};

// By which calls of different ranks are one, and follow each other.
template <typename Numbered>
int64_t place_of(const Numbered& one) {
    return one.place.value_or(one.sequence);
}

struct RankPart {
    int rank;
    std::optional<Interval> device;
    int64_t tag = -1;
};

struct CollectiveInstance {
    CollectiveOp op = CollectiveOp::mixed;  // Send stands for Send and its Recv
    int64_t sequence = 0;                   // of its first call
    int64_t calls = 1;                      // in one kernel; above 1 a call has no time of its own
    int64_t bytes = 0;                      // of all its calls, as passed
    int64_t whole_bytes = 0;                // S of all its calls
    int root = -1;                          // or the source
    int destination = -1;                   // of Send and Recv
    int ranks = 0;                          // that take part, seen or not
    int64_t replays = 1;                    // the fewest of its ranks
    bool aborted = false;
    bool shares_kernel = false;         // device times are of a kernel that did more than this
    std::vector<RankPart> parts;        // by rank: "k of n"
    std::optional<int64_t> place = {};  // of its first call

    bool complete() const { return parts.size() == static_cast<size_t>(ranks); }
};

// The same sequence number, and not the same call. Ranks are the lowest of their kind.
struct CollectiveMismatch {
    enum class Kind { op, bytes, root, grouping, replays } kind;
    int64_t sequence;
    int rank, other_rank;
    CollectiveOp op, other_op;
    int64_t value, other_value;  // bytes, root, calls in the group, replays; 0 for op
};

struct MatchSink {
    std::function<void(const CollectiveInstance&)> instance;
    std::function<void(const CollectiveMismatch&)> mismatch;
};

// One row of ranks that count together: all of a communicator, or the two ends of a pair.
class SequenceMatch {
  public:
    struct Entry {
        CollectiveCall call;  // all of a kernel's together
        int64_t last_place, calls, whole_bytes;
        bool shares_kernel;
        int rank;
        int destination;  // of Send and Recv, whose peer is the source here
    };
    // Seats are who delivers: of `ranks` that take part, those whose traces are there.
    SequenceMatch(std::vector<bool> seats_open, int ranks);

    // Of a seat that is open. False: it went back in sequence.
    bool take(size_t seat, const Entry& entry, const MatchSink& sink);
    void end(size_t seat, const MatchSink& sink);
    size_t waiting() const { return rows_.size(); }

  private:
    void find_behind();
    void go_on(const MatchSink& sink);  // when one that was furthest behind did, or ended
    void give(std::vector<Entry> row, const MatchSink& sink) const;
    std::vector<int64_t> next_;  // by seat: nothing below it comes any more
    std::vector<bool> open_;
    int64_t reached_ = INT64_MAX;  // the least of next_, of those that are open
    size_t behind_ = 0;            // so many of them are there
    int ranks_;
    std::map<int64_t, std::vector<Entry>> rows_;  // by place
};

class CommunicatorMatch {
  public:
    CommunicatorMatch(int ranks, const std::vector<int>& present, MatchSink sink);
    void take(int rank, const CollectiveCall& call);
    void end(int rank);  // nothing more from that rank

    size_t waiting() const;  // instances that some rank has not reached
    // Calls that went back in sequence, or of a rank that is not present, has ended, or cannot be.
    int64_t left_out() const { return left_out_; }

  private:
    void close_group(int rank);
    void deliver(int rank, SequenceMatch::Entry entry);
    SequenceMatch& pair(int source, int destination);
    bool is_open(int rank) const;

    struct Rank {
        bool open = false;
        std::vector<CollectiveCall> group;
    };
    int ranks_;
    MatchSink sink_;
    std::vector<Rank> all_;  // by rank
    SequenceMatch collectives_, exchanges_;
    std::map<std::pair<int, int>, SequenceMatch> pairs_;  // by (source, destination)
    int64_t left_out_ = 0;
};

}  // namespace gpushim::analysis
