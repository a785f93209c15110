// What graphs hold, counted while they are built by calls or by capture. The writer's thread only.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "database.h"
#include "handles.h"

namespace gpushim::shim {

enum class Node : uint8_t { kernel, copy, memset, other };

class Graphs {
  public:
    explicit Graphs(Tables& tables) : tables_(tables) {}
    void load(Database& base, Handles& handles);

    void add(const Life& graph, Node node);
    void add_unknown(const Life& graph);
    void copied(const Life& graph, const Life& from);
    void died(const Life& graph);
    // While exactly one capture is under way, what is captured belongs to it; else it cannot be told apart.
    void capture_begins(int64_t stream_id, const Life* into);
    void captured(Node node);
    void capture_ends(int64_t stream_id, const Life* graph);
    void instantiated(Life& exec, const Life* graph);
    int64_t row(Life& exec);

  private:
    struct Nodes {
        int64_t of[4] = {};
        bool sure = true;
    };
    void add_row(Life& exec, const Nodes* nodes);

    Tables& tables_;
    std::unordered_map<int64_t, Nodes> graphs_;    // by handle.id
    std::unordered_map<int64_t, Nodes> captures_;  // by stream.id
    int64_t last_id_ = 0;
};

}  // namespace gpushim::shim
