// Matrix products that were asked for while streams were captured: which capture took up the kernels of which
// product. A product is of the capture into which its thread launched first from within the call.
//
//   thread   BeginCapture  ═GemmEx═  own kernel  EndCapture
//                           launch    launch                    1 product, 1 kernel of it, 2 kernels
//
// Streams that joined a capture by an event are of it where no other is under way; else nobody knows, and
// what they took up counts for none. Reads the trace's rows between begin and end of captures alone. One
// thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "../../sqlite/database.h"
#include "../pass/facts.h"

namespace gpushim::analysis {

using KernelCounts = std::map<size_t, int64_t>;  // by index into facts.kernels; behind the last: no name
void add_count(int64_t& to, int64_t count);      // never beyond any that is true

// What is in a graph of which something was captured.
struct CapturedWork {
    int64_t products = 0;
    double flops = 0;
    KernelCounts in_products, captured;                               // launches: of products, and all
    std::map<int64_t, std::shared_ptr<const CapturedWork>> children;  // child graphs, flat, by node
    const char* why = nullptr;                                        // it is not known; null: it is

    void add(const CapturedWork& other);
    CapturedWork flat() const;  // with what is in child graphs
};

class Captures {
  public:
    // What a launch of that graph (graph_launch.graph_id) adds to the capture that it is launched into.
    class Graphs {
      public:
        virtual ~Graphs() = default;
        virtual CapturedWork held_by(int64_t graph_id) = 0;
    };
    Captures(const TraceFacts& facts, Graphs& graphs);
    ~Captures();

    void begin(int64_t stream_id, int64_t enter_ns, bool replaces);
    struct Ended {
        CapturedWork work;
        bool replaces;  // what was in the graph before
    };
    std::optional<Ended> end(int64_t stream_id);
    void read_until(int64_t enter_ns);  // what was called before

  private:
    struct Rows;
    struct Product {
        int64_t exit_ns = INT64_MIN;
        double flops = 0;
        bool is_placed = false;
    };
    Ended* capture_of(int64_t stream_id);
    void take_launch(int64_t thread_id, int64_t stream_id, int64_t shape_id, int64_t enter_ns);
    size_t kernel_of(int64_t shape_id) const;

    const TraceFacts& facts_;
    Graphs& graphs_;
    std::map<int64_t, Ended> open_;  // by stream
    const std::unique_ptr<Rows> rows_;
    std::unordered_map<int64_t, Product> of_thread_;
};

}  // namespace gpushim::analysis
