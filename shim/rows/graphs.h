// What executable graphs hold, from what the program's threads have told (hooks/graph_contents.h), and what
// calls have changed since. A row of the trace for each state that was taken over or launched. The writer's
// thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../sqlite/database.h"
#include "graph_nodes.h"
#include "handles.h"

namespace gpushim::shim {

class Graphs {
  public:
    // Of more states, or kernels in them, contents are not recorded: they all share one row.
    Graphs(Tables& tables, size_t most_rows, size_t most_kernels)
        : tables_(tables), most_rows_(most_rows), most_kernels_(most_kernels) {}
    void load(Database& base, Handles& handles);

    void instantiated(Life& exec);
    void changed(Life& exec, GraphChange change, uint64_t node, int64_t value);
    void died(const Life& exec);

    // One telling, in the order of its thread; it may come in several batches.
    void telling_begins(int64_t thread);
    void tells(int64_t thread, GraphNode kind, uint64_t node, int64_t value);
    void telling_ends(int64_t thread, Life& exec, uint64_t below, uint64_t count);
    void stays_as_it_was(Life& exec, uint64_t below);  // nobody looked at what the update brought

    // Of its present state.
    int64_t row(Life& exec);
    // A row of a graph that has ended.
    void is_gone(size_t kernels) {
        --rows_;
        kernels_ -= kernels;
    }
    uint64_t left_out() const { return left_out_; }  // states that had no row of their own
    uint64_t assumed() const { return assumed_; }    // updates after which what was before is taken for it

  private:
    struct State {
        GraphNodes nodes;
        // Its newest states' rows: some come again and again.
        std::vector<std::pair<std::optional<GraphTotals>, int64_t>> rows;
        bool seen_made = false;  // else nobody knows which nodes are off
    };
    struct Telling {
        std::vector<GraphItem> items;
        std::vector<uint64_t> inside;  // the child graphs' nodes around what comes next
        uint64_t count = 0;
    };
    int64_t other_row();
    int64_t add_row(const Life& exec, const std::optional<GraphTotals>& totals);

    Tables& tables_;
    const size_t most_rows_, most_kernels_;
    size_t rows_ = 0, kernels_ = 0;
    int64_t other_id_ = kNull;
    uint64_t left_out_ = 0, assumed_ = 0;
    std::unordered_map<int64_t, State> states_;      // by handle.id
    std::unordered_map<int64_t, Telling> tellings_;  // by thread
    int64_t last_id_ = 0;
};

}  // namespace gpushim::shim
