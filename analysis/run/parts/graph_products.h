// What launches of graphs compute, by the matrix products that were captured into them. A launch does all of
// them once, if what it runs (graph_kernel) has all kernels that were captured for them.
//
//   BeginCapture ═GemmEx═ EndCapture ── Instantiate ── Launch  Launch ── Update ── Launch
//                 launch      graph         exec        1 product each    from another graph: that one's
//
// Child graphs count with what was captured into them. Nothing is said where nodes of products have been
// given other parameters since, or where nobody knows what a launch runs. One thread.
#pragma once

#include "captured_products.h"

namespace gpushim::analysis {

struct GraphWork {  // of one launch
    int64_t products = 0;
    double flops = 0;
    KernelCounts in_products;
    std::optional<int64_t> matrix_kernels;  // products and convolutions that it runs; none: not recorded
    const char* why = nullptr;              // its products are not known; null: they are
};

class GraphProducts : Captures::Graphs {
  public:
    explicit GraphProducts(const TraceFacts& facts);
    ~GraphProducts() override;

    // Launches in order of time.
    const GraphWork& of(const Call& launch);

  private:
    enum class Does : uint8_t;
    struct Exec {
        CapturedWork work;
        std::map<int64_t, GraphWork> by_state;  // by graph.id; made when it is asked for
    };
    static std::optional<Does> what_does(std::string_view base);

    CapturedWork held_by(int64_t graph_id) override;
    void read_until(int64_t enter_ns);
    void take_call();
    void take_capture(Does what, int64_t stream_id, std::optional<int64_t> graph);
    void change_exec(Does what, int64_t exec_id);
    void change_graph(int64_t graph_id);
    bool holds_graph() const;
    CapturedWork of_graph(std::optional<int64_t> graph_id);
    size_t kernel_of(int64_t function_id);
    GraphWork work_of(const CapturedWork& work, int64_t graph_id) const;
    void of_state(GraphWork& work, int64_t graph_id, KernelCounts& runs) const;

    const TraceFacts& facts_;
    Captures captures_;
    std::unordered_map<int64_t, Does> does_;           // by api.id
    std::unordered_map<int64_t, int64_t> exec_of_;     // by graph.id: handle.id
    std::unordered_map<std::string, size_t> by_name_;  // kernels
    std::unordered_map<int64_t, size_t> of_function_;  // … by handle.id, of those that were asked for
    std::optional<Query> calls_;                       // none: nothing to do with graphs
    bool has_call_ = false;
    std::unordered_map<int64_t, CapturedWork> graphs_;  // by handle.id, those that live
    std::unordered_map<int64_t, Exec> execs_;
    GraphWork unseen_;
};

}  // namespace gpushim::analysis
