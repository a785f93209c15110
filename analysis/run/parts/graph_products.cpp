#include "graph_products.h"

#include <algorithm>

#include "../../../shim/schema/flags.h"

namespace gpushim::analysis {

enum class GraphProducts::Does : uint8_t {
    begin,         // of a capture
    begin_again,   // of one that takes the place of what is in the graph
    end,           //
    copy,          // a graph
    add,           // a child graph
    set_template,  // what a node of some graph is given
    destroy,       //
    make_exec,
    update_exec,
    set_node,   // of an executable graph
    set_child,  //
    destroy_exec
};

namespace {

constexpr const char* kNotSeen =
    "of a graph it is not recorded what was captured into it: that was before recording began, or its rows "
    "are gone";
constexpr const char* kNoSource = "a graph was updated from another of which nothing is recorded";
constexpr const char* kChanged =
    "nodes of a graph that compute products were given other parameters, or another child graph";
constexpr const char* kOtherKernels =
    "a graph does not run all the kernels that were captured into it with its products";
constexpr const char* kNoNames = "kernels of products that were captured have no names";

}  // namespace

std::optional<GraphProducts::Does> GraphProducts::what_does(std::string_view base) {
    constexpr std::pair<std::string_view, Does> kAll[] = {
        {"cuStreamBeginCapture", Does::begin},
        {"cuStreamBeginCaptureToGraph", Does::begin},
        {"cuStreamBeginCaptureToCig", Does::begin},
        {"cuStreamBeginRecaptureToGraph", Does::begin_again},
        {"cuStreamEndCapture", Does::end},
        {"cuStreamEndCaptureToCig", Does::end},
        {"cuGraphClone", Does::copy},
        {"cuGraphAddChildGraphNode", Does::add},
        {"cuGraphAddNode", Does::add},
        {"cuGraphKernelNodeSetParams", Does::set_template},
        {"cuGraphNodeSetParams", Does::set_template},
        {"cuGraphDestroy", Does::destroy},
        {"cuGraphInstantiate", Does::make_exec},
        {"cuGraphInstantiateWithFlags", Does::make_exec},
        {"cuGraphInstantiateWithParams", Does::make_exec},
        {"cuGraphExecUpdate", Does::update_exec},
        {"cuGraphExecKernelNodeSetParams", Does::set_node},
        {"cuGraphExecNodeSetParams", Does::set_node},
        {"cuGraphExecChildGraphNodeSetParams", Does::set_child},
        {"cuGraphExecDestroy", Does::destroy_exec},
    };
    for (const auto& [name, what] : kAll)
        if (name == base) return what;
    return {};
}

GraphProducts::GraphProducts(const TraceFacts& facts) : facts_(facts), captures_(facts, *this) {
    unseen_.why = kNotSeen;
    std::string ids;
    for (const auto& [id, api] : facts.apis)
        if (const auto what = what_does(api.base)) {
            does_[id] = *what;
            ids += (ids.empty() ? "" : ", ") + std::to_string(id);
        }
    const Database& base = facts.trace->base;
    if (ids.empty() || facts.graphs.empty() || !base.has("v_gemm")) return;
    for (size_t i = 0; i < facts.kernels.size(); ++i) by_name_.try_emplace(facts.kernels[i].name, i);
    Query graphs = base.prepare("SELECT id, handle_id FROM graph");
    while (graphs.step()) exec_of_[graphs.number(0)] = graphs.number(1);
    // Traces of before do not have it.
    const bool has_held = base.columns_of("call").contains("holds_id");
    calls_.emplace(base.prepare("SELECT c.enter_ns, c.api_id, c.stream_id, c.target_id, h.parent_id," +
                                std::string(has_held ? " c.holds_id, c.node" : " NULL, NULL") +
                                ", g.kind, coalesce(g.born_ns IS NULL, 0), coalesce(" + kSucceeded.sql("c") +
                                ", 1)"
                                " FROM call c LEFT JOIN handle h ON h.id = c.target_id"
                                " LEFT JOIN handle g ON g.id = " +
                                (has_held ? "coalesce(c.holds_id, h.parent_id)" : "h.parent_id") +
                                " WHERE c.api_id IN (" + ids + ") ORDER BY c.enter_ns"));
    has_call_ = calls_->step();
}

GraphProducts::~GraphProducts() = default;

void GraphProducts::read_until(int64_t enter_ns) {
    for (; has_call_ && calls_->number(0) <= enter_ns; has_call_ = calls_->step()) {
        captures_.read_until(calls_->number(0));
        take_call();
    }
}

void GraphProducts::take_call() {
    const Does what = does_.at(calls_->number(1));
    const auto target = calls_->maybe(3), parent = calls_->maybe(4);
    if (calls_->number(9) == 0) {  // failed: a capture is over all the same
        if (what == Does::end) captures_.end(calls_->number(2));
        return;
    }
    if (what <= Does::end) return take_capture(what, calls_->number(2), target);
    if (what == Does::set_template) return change_graph(calls_->maybe(5).value_or(kNoTarget));
    if (!target) return;
    switch (what) {
        case Does::copy:
            graphs_[*target] = of_graph(parent);
            break;
        case Does::add:
            if (holds_graph())
                graphs_[*target].children[calls_->number(6)] =
                    std::make_shared<CapturedWork>(of_graph(calls_->maybe(5)).flat());
            break;
        case Does::destroy:
            graphs_.erase(*target);
            break;
        case Does::make_exec:
            execs_[*target] = {of_graph(parent), {}};
            break;
        case Does::destroy_exec:
            execs_.erase(*target);
            break;
        default:
            change_exec(what, *target);
    }
}

void GraphProducts::take_capture(Does what, int64_t stream_id, std::optional<int64_t> graph) {
    if (what != Does::end) return captures_.begin(stream_id, calls_->number(0), what == Does::begin_again);
    const auto ended = captures_.end(stream_id);
    if (!graph) return;
    CapturedWork& there = graphs_[*graph];
    if (!ended) {  // its begin was not recorded
        there.why = kNotSeen;
        return;
    }
    if (ended->replaces) there = {};
    there.add(ended->work);
}

bool GraphProducts::holds_graph() const { return calls_->maybe(5) && calls_->text(7) == "graph"; }

// Of a graph that was there before anything was recorded nobody knows what was captured into it.
CapturedWork GraphProducts::of_graph(std::optional<int64_t> graph_id) {
    CapturedWork none;
    if (!graph_id) {
        none.why = kNoSource;
        return none;
    }
    const auto found = graphs_.find(*graph_id);
    if (found != graphs_.end()) return found->second;
    if (calls_->number(8) != 0) none.why = kNotSeen;
    return none;
}

void GraphProducts::change_exec(Does what, int64_t exec_id) {
    const auto found = execs_.find(exec_id);
    if (found == execs_.end()) return;
    Exec& exec = found->second;
    const auto held = calls_->maybe(5);
    if (what == Does::update_exec) {
        exec.by_state.clear();
        exec.work = of_graph(held);
        return;
    }
    if (exec.work.why != nullptr) return;
    const bool is_child = what == Does::set_child || holds_graph();
    const auto child = is_child ? exec.work.children.find(calls_->number(6)) : exec.work.children.end();
    if (child != exec.work.children.end() && held) {
        exec.by_state.clear();
        child->second = std::make_shared<CapturedWork>(of_graph(held).flat());
        return;
    }
    const CapturedWork with_children = exec.work.children.empty() ? CapturedWork() : exec.work.flat();
    const CapturedWork& all = exec.work.children.empty() ? exec.work : with_children;
    const bool is_of_product = is_child ? all.products > 0 || of_graph(held).flat().products > 0
                                        : !held || all.in_products.contains(kernel_of(*held));
    if (!is_of_product || (all.products == 0 && !is_child)) return;
    exec.by_state.clear();
    exec.work.why = kChanged;
}

// Of which graph the node is, the call does not say: so it may be any that has such a kernel.
void GraphProducts::change_graph(int64_t function_id) {
    const bool is_any = function_id == kNoTarget;
    const size_t kernel = is_any ? 0 : kernel_of(function_id);
    for (auto& [id, work] : graphs_) {
        if (work.why != nullptr || (work.products == 0 && work.children.empty())) continue;
        const CapturedWork with_children = work.children.empty() ? CapturedWork() : work.flat();
        const CapturedWork& all = work.children.empty() ? work : with_children;
        if (all.products > 0 && (is_any || all.in_products.contains(kernel))) work.why = kChanged;
    }
}

size_t GraphProducts::kernel_of(int64_t function_id) {
    const auto [found, is_new] = of_function_.try_emplace(function_id, facts_.kernels.size());
    if (!is_new) return found->second;
    Query name = facts_.trace->base.prepare("SELECT name FROM v_handle WHERE id = ?1");
    name.bind(1, function_id);
    if (!name.step()) return found->second;
    const auto kernel = by_name_.find(name.text(0));
    if (kernel != by_name_.end()) found->second = kernel->second;
    return found->second;
}

// Kernels that the state runs, and how many of them multiply.
void GraphProducts::of_state(GraphWork& work, int64_t graph_id, KernelCounts& runs) const {
    const auto state = facts_.graphs.find(graph_id);
    if (state == facts_.graphs.end() || state->second.kernels < 0) return;
    work.matrix_kernels = 0;
    for (const auto& [kernel, times] : state->second.by_kernel) {
        if (kernel < 0) continue;
        const auto index = static_cast<size_t>(kernel);
        add_count(runs[index], times);
        const KernelFamily family = facts_.kernels[index].facts.family;
        if (family == KernelFamily::gemm || family == KernelFamily::convolution)
            add_count(*work.matrix_kernels, times);
    }
}

GraphWork GraphProducts::work_of(const CapturedWork& work, int64_t graph_id) const {
    const CapturedWork all = work.flat();
    GraphWork result;
    KernelCounts runs;
    of_state(result, graph_id, runs);
    result.why = all.why;
    if (all.in_products.contains(facts_.kernels.size())) result.why = kNoNames;
    const bool has_all =
        std::all_of(all.in_products.begin(), all.in_products.end(), [&](const auto& of_product) {
            const auto found = runs.find(of_product.first);
            return found != runs.end() && found->second >= all.captured.at(of_product.first);
        });
    if (result.why == nullptr && !has_all) result.why = kOtherKernels;
    if (result.why != nullptr || !result.matrix_kernels) return result;
    result.products = all.products;
    result.flops = all.flops;
    result.in_products = all.in_products;
    return result;
}

CapturedWork GraphProducts::held_by(int64_t graph_id) {
    const auto exec_id = exec_of_.find(graph_id);
    const auto found = exec_id == exec_of_.end() ? execs_.end() : execs_.find(exec_id->second);
    CapturedWork work;
    if (found == execs_.end())
        work.why = kNotSeen;
    else
        work = found->second.work.flat();
    return work;
}

const GraphWork& GraphProducts::of(const Call& launch) {
    read_until(launch.enter_ns);
    const auto exec_id = exec_of_.find(launch.detail);
    const auto found = exec_id == exec_of_.end() ? execs_.end() : execs_.find(exec_id->second);
    if (found == execs_.end()) {
        KernelCounts runs;
        unseen_.matrix_kernels.reset();
        of_state(unseen_, launch.detail, runs);
        return unseen_;
    }
    auto& by_state = found->second.by_state;
    const auto known = by_state.find(launch.detail);
    if (known != by_state.end()) return known->second;
    return by_state[launch.detail] = work_of(found->second.work, launch.detail);
}

}  // namespace gpushim::analysis
