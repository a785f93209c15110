// What matrix products of cuBLAS and cuBLASLt come to, by the kernels that computed them. A product is of the
// kernel that ran longest of those that its call launched; one of which not all have device times counts for
// none.
//
//   thread     ═══cublasGemmEx═══    ═cublasGemmEx═
//                ═launch═ ═launch═     ═launch═
//   device          ████kernel████ █reduce█  ████kernel████      flops of both: of `kernel`, in the time of
//   both
//
// Also, whether there are device times or not: how many operations the products of each step need, and which
// kernels were launched by products at all. Products that were captured into a graph count here, with each
// launch of it (graph_products.h), and for no kernel: when those in graphs ran is not known.
#include <map>
#include <unordered_map>

#include "../../sqlite/database.h"
#include "../pass/kernel_index.h"
#include "../sql/run_db.h"
#include "graph_products.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

constexpr const char* kNoKernelName = "(name not known)";

struct Product {
    int64_t exit_ns = INT64_MIN;
    double flops = 0;
    std::optional<double> bytes;
    int64_t launched = 0, timed = 0;
    int64_t ns = 0, longest_ns = 0;
    int64_t gpu_id = kNotTold;  // where the longest ran, …
    size_t kernel = 0;          // … and which it is
};

struct ProductSums {
    int64_t products = 0, ns = 0;
    double flops = 0;
    std::optional<double> bytes = 0.0;  // none: of one it is not known
};

struct Work {  // that a step asked for
    int64_t products = 0;
    double flops = 0;
};

struct GraphSums {  // of launches of a graph in one state of it
    int64_t launches = 0, known = 0;
    Work work;
    std::optional<int64_t> matrix_kernels;
    std::string why;  // the newest that was not known
};

class ProductPart : public PartByCall<ProductPart> {
  public:
    explicit ProductPart(const TraceFacts& facts) : facts_(facts), places_(facts), index_(facts) {
        const Database& base = facts.trace->base;
        if (!base.has("gemm") || !base.has("v_gemm")) return;
        if (Query any = base.prepare("SELECT 1 FROM gemm LIMIT 1"); !any.step()) return;
        graphs_.emplace(facts);
        next_.emplace(
            base.prepare("SELECT enter_ns, exit_ns, thread_id, flops, bytes FROM v_gemm"
                         " WHERE exit_ns IS NOT NULL AND flops IS NOT NULL AND failed = 0"
                         " ORDER BY enter_ns"));
        has_next_ = next_->step();
    }

    bool has_work() const override { return next_.has_value(); }
    void see(const Call& call) override {
        if (!next_ || call.kind != CallKind::operation) return;
        if (call.type == OperationClass::graph) return add_graph(call);
        if (call.type != OperationClass::compute) return;
        while (has_next_ && next_->number(0) <= call.enter_ns) begin_product();
        const auto found = of_thread_.find(call.thread_id);
        if (found != of_thread_.end() && call.enter_ns < found->second.exit_ns)
            add(found->second, call, gpu_id_of(call), index_.of(call));
    }

    void finish(RunDb& run) override {
        for (auto& [thread, product] : of_thread_) settle(product);
        for (const auto& [who, sums] : sums_)
            run.add("kernel_product", {who.first, name_of_kernel(who.second), sums.products, sums.flops,
                                       sums.ns, sums.bytes ? Value(*sums.bytes) : Value(nullptr)});
        for (const auto& [who, launches] : launches_)
            run.add("kernel_in_product", {who.first, name_of_kernel(who.second), launches});
        for (const auto& [when, work] : of_step_)
            run.add("product_step", {when.first, int64_t{when.second}, work.products, work.flops});
        for (const auto& [which, sums] : sums_of_graph_)
            run.add("graph_product", {which.first, which.second, sums.launches, sums.known,
                                      sums.work.products, sums.work.flops, maybe(sums.matrix_kernels),
                                      sums.why.empty() ? Value(nullptr) : Value(sums.why)});
    }

  private:
    void begin_product() {
        Product& product = of_thread_[next_->number(2)];
        settle(product);
        product = {};
        product.exit_ns = next_->number(1);
        product.flops = next_->real(3);
        if (!next_->is_null(4)) product.bytes = next_->real(4);
        has_next_ = next_->step();
    }

    std::string name_of_kernel(size_t kernel) const {
        return kernel < facts_.kernels.size() ? facts_.kernels[kernel].name : std::string(kNoKernelName);
    }
    int64_t gpu_id_of(const Call& call) const { return places_[places_.of(call)].gpu_id; }

    void add(Product& product, const Call& kernel, int64_t gpu_id, size_t index) {
        ++launches_[{gpu_id, index}];
        if (product.launched++ == 0 && kernel.step != kNoStep) {
            Work& work = of_step_[{gpu_id, kernel.step}];
            ++work.products;
            work.flops += product.flops;
        }
        const int64_t ran_ns = kernel.timed ? kernel.times.end_ns - kernel.times.start_ns : 0;
        if (ran_ns <= 0) return;
        ++product.timed;
        product.ns += ran_ns;
        if (ran_ns <= product.longest_ns) return;
        product.longest_ns = ran_ns;
        product.kernel = index;
        product.gpu_id = gpu_id;
    }

    void add_graph(const Call& launch) {
        const GraphWork& graph = graphs_->of(launch);
        const int64_t gpu_id = gpu_id_of(launch);
        GraphSums& sums = sums_of_graph_[{gpu_id, launch.detail}];
        ++sums.launches;
        sums.matrix_kernels = graph.matrix_kernels;
        if (graph.why != nullptr) sums.why = graph.why;
        if (graph.why != nullptr || !graph.matrix_kernels) return;
        ++sums.known;
        add_count(sums.work.products, graph.products);
        sums.work.flops += graph.flops;
        for (const auto& [kernel, times] : graph.in_products) add_count(launches_[{gpu_id, kernel}], times);
        if (launch.step == kNoStep || graph.products == 0) return;
        Work& work = of_step_[{gpu_id, launch.step}];
        add_count(work.products, graph.products);
        work.flops += graph.flops;
    }

    void settle(const Product& product) {
        if (product.launched == 0 || product.timed < product.launched) return;
        ProductSums& sums = sums_[{product.gpu_id, product.kernel}];
        ++sums.products;
        sums.flops += product.flops;
        sums.ns += product.ns;
        if (sums.bytes && product.bytes)
            *sums.bytes += *product.bytes;
        else
            sums.bytes.reset();
    }

    const TraceFacts& facts_;
    const Places places_;
    const KernelIndex index_;
    std::optional<Query> next_;  // the product that begins next; none: the trace has none
    bool has_next_ = false;
    std::optional<GraphProducts> graphs_;
    std::unordered_map<int64_t, Product> of_thread_;                  // the newest of each
    std::map<std::pair<int64_t, size_t>, ProductSums> sums_;          // by GPU and kernel
    std::map<std::pair<int64_t, size_t>, int64_t> launches_;          // likewise
    std::map<std::pair<int64_t, int32_t>, Work> of_step_;             // by GPU and step
    std::map<std::pair<int64_t, int64_t>, GraphSums> sums_of_graph_;  // by GPU and graph.id
};

const PartRegistration kProductPart(make_product_part);

}  // namespace

std::unique_ptr<Part> make_product_part(const TraceFacts& facts) {
    return std::make_unique<ProductPart>(facts);
}

}  // namespace gpushim::analysis
