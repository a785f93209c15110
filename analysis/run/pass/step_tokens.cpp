#include "step_tokens.h"

#include <bit>
#include <charconv>
#include <functional>
#include <utility>

#include "../../parallel/read_ahead.h"
#include "../../terminal/progress.h"
#include "../../trace/by_number.h"
#include "../../trace/dropped_spans.h"
#include "../../trace/timeline.h"

namespace gpushim::analysis {

namespace {

int64_t mixed(int64_t hash, int64_t value) {
    auto bits = static_cast<uint64_t>(hash) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(value);
    bits ^= bits >> 29;
    return static_cast<int64_t>(bits * 0xBF58476D1CE4E5B9u);
}

class Tokens {
  public:
    explicit Tokens(const TraceFacts& facts) : facts_(facts) {
        for (const Kernel& kernel : facts.kernels)
            names_.push_back(static_cast<int64_t>(std::hash<std::string>{}(kernel.name)) | 1);
    }

    // false: it says nothing of steps.
    bool read(const Call& call, Token& token) {
        if (call.kind != CallKind::operation || !is_kernel(call)) return read_other(call, token);
        const OfShape& shape = of_kernel(call.detail);
        if (shape.is_node) return read_other(call, token);
        kernel(call, shape, token);
        finish(token);
        return true;
    }

  private:
    struct OfShape {
        int64_t hash = 0, name = 0;
        bool is_optimizer = false, is_collective = false, is_node = false;
        Purpose purpose = {};
        int64_t blocks = 0;
    };

    static void begin(const Call& call, Token& token) {
        token = {};
        token.at_ns = call.enter_ns;
        token.lane = call.lane;
        token.kind = TokenKind::kernel;
        token.thread = call.thread_id;
    }

    // What was met since the last one goes with it.
    void finish(Token& token) {
        add(token.purpose, std::exchange(node_purpose_, {}));
        token.is_load = std::exchange(is_loading_, false);
    }

    bool read_other(const Call& call, Token& token) {
        if (call.kind == CallKind::load) is_loading_ = true;
        if (TraceFacts::is_migration(call)) return false;
        if (facts_.is_later_node(call)) {
            if (is_kernel(call)) add(node_purpose_, of_kernel(call.detail).purpose);
            return false;
        }
        begin(call, token);
        if (call.kind == CallKind::operation) add_read(call);
        if (call.kind == CallKind::sync) {
            token.kind = TokenKind::sync;
            token.hash = mixed(4, call.api_id);
            token.bytes = std::exchange(read_bytes_, 0);
        } else if (call.kind != CallKind::operation) {
            return false;
        } else if (facts_.is_node(call)) {  // its graph is known by the first one
            token.kind = TokenKind::graph;
            token.hash = token.name = mixed(5, call.api_id >= 0 ? call.api_id : of_kernel(call.detail).hash);
            if (is_kernel(call)) token.purpose = of_kernel(call.detail).purpose;
        } else if (call.type == OperationClass::graph) {
            token.kind = TokenKind::graph;
            token.hash = token.name = mixed(1, call.detail);
            token.purpose = of_graph(call.detail);
            token.operations = operations_of(call.detail);
        } else if (call.type == OperationClass::h2d) {
            token.kind = TokenKind::copy_h2d;
            token.hash = mixed(2, call.bytes);
            token.name = 2;
            token.bytes = call.bytes;
        } else {
            return false;
        }
        finish(token);
        return true;
    }

    static bool is_kernel(const Call& call) {
        return call.type == OperationClass::compute || call.type == OperationClass::comm;
    }

    // What a graph copies, and copies of which the direction is not told, may be anything.
    void add_read(const Call& call) {
        const auto graph =
            call.type == OperationClass::graph ? facts_.graphs.find(call.detail) : facts_.graphs.end();
        const bool copies = graph != facts_.graphs.end() && graph->second.copies != 0;
        const bool is_untold = copies || call.type == OperationClass::copy;
        if (call.type != OperationClass::d2h && !is_untold) return;
        const bool is_known = !is_untold && call.bytes >= 0 && read_bytes_ >= 0;
        read_bytes_ = is_known ? read_bytes_ + call.bytes : -1;
    }

    static void kernel(const Call& call, const OfShape& shape, Token& token) {
        begin(call, token);
        token.hash = shape.hash;
        token.name = shape.name;
        token.is_optimizer = shape.is_optimizer;
        token.purpose = shape.purpose;
        token.blocks = shape.blocks;
        if (call.type == OperationClass::comm || shape.is_collective) token.kind = TokenKind::collective;
    }

    const OfShape& of_kernel(int64_t id) {
        const OfShape* const met = of_shape_.find(id);
        return met != nullptr ? *met : meet(id);
    }
    [[gnu::noinline]] const OfShape& meet(int64_t id) { return of_shape_[id] = of_shape(id); }

    // All of it at once.
    static void add(Purpose& sum, const Purpose& more) {
        static_assert(sizeof(Purpose) == sizeof(uint64_t));
        sum = std::bit_cast<Purpose>(std::bit_cast<uint64_t>(sum) | std::bit_cast<uint64_t>(more));
    }

    Purpose purpose_of(int32_t kernel) const {
        if (kernel < 0) return {};
        const KernelClass& facts = facts_.kernels[static_cast<size_t>(kernel)].facts;
        const KernelPurpose of = facts.purpose;
        return {.trains = of == KernelPurpose::gradient,
                .serves = of > KernelPurpose::gradient,
                .prefills = of == KernelPurpose::prefill,
                .decodes = of == KernelPurpose::decode,
                .attends = facts.family == KernelFamily::attention,
                .samples = of == KernelPurpose::sample,
                .weighs = facts.family == KernelFamily::softmax};
    }

    int64_t operations_of(int64_t graph) const {
        const auto contents = facts_.graphs.find(graph);
        if (contents == facts_.graphs.end()) return 1;
        const auto& [kernels, copies, memsets, bytes, by_kernel] = contents->second;
        return std::max<int64_t>(
            1, std::max<int64_t>(0, kernels) + std::max<int64_t>(0, copies) + std::max<int64_t>(0, memsets));
    }

    // By what a launch of it runs, where that is recorded.
    Purpose of_graph(int64_t id) const {
        Purpose purpose;
        const auto contents = facts_.graphs.find(id);
        if (contents == facts_.graphs.end()) return purpose;
        for (const auto& [kernel, times] : contents->second.by_kernel) add(purpose, purpose_of(kernel));
        return purpose;
    }

    OfShape of_shape(int64_t id) const {
        const Shape* shape = facts_.shapes.find(id);
        const bool is_node = shape != nullptr && shape->is_node;
        if (shape == nullptr || shape->kernel < 0) return {.hash = mixed(3, id), .is_node = is_node};
        const auto index = static_cast<size_t>(shape->kernel);
        const KernelFamily family = facts_.kernels[index].facts.family;
        const int64_t name = names_[index];
        return {.hash = mixed(mixed(name, shape->blocks), shape->threads_per_block),
                .name = name,
                .is_optimizer = family == KernelFamily::optimizer,
                .is_collective = family == KernelFamily::comm,
                .is_node = is_node,
                .purpose = purpose_of(shape->kernel),
                .blocks = shape->blocks};
    }

    const TraceFacts& facts_;
    std::vector<int64_t> names_;  // by kernel
    ByNumber<OfShape> of_shape_;  // those met so far
    Purpose node_purpose_;  // of nodes behind the last token: their graph's first one is known by its API
    bool is_loading_ = false;
    int64_t read_bytes_ = 0;  // to the host since the last sync; below 0: not known
};

// The number at the end of ProfilerStep#12; -1: none.
int64_t number_in(const std::string& name) {
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    int64_t number = -1;
    std::from_chars(name.data() + digits, name.data() + name.size(), number);
    return number;
}

void read_ranges(const Trace& trace, const std::string& marker, Marks& marks) {
    Query ranges = trace.base.prepare(
        "SELECT start_ns, end_ns, name FROM v_range WHERE end_ns IS NOT NULL AND end_ns >= ?2 AND"
        " CASE WHEN ?1 = '' THEN name GLOB 'ProfilerStep#*' ELSE name = ?1 OR name GLOB ?1 || '#*'"
        " OR name GLOB ?1 || ' [0-9]*' END ORDER BY start_ns");
    ranges.bind(1, marker);
    ranges.bind(2, trace.from_ns);
    int64_t next = 0;
    while (ranges.step()) {
        const int64_t number = number_in(ranges.text(2));
        next = number >= 0 ? number : next + 1;
        marks.ranges.push_back({{ranges.number(0), ranges.number(1)}, next});
    }
}

}  // namespace

TokenSource tokens_of(const TraceFacts& facts, int64_t most) {
    return [&facts, most](const std::function<void(const Token&)>& take) {
        struct Read {
            Token token;
            int64_t calls;  // up to it
        };
        Timeline timeline(*facts.trace, CallsOf::host_times);
        Tokens tokens(facts);
        Call call = {};
        const auto read_one = [&](Read& read) {
            for (read.calls = 1; timeline.next(call); ++read.calls)
                if (tokens.read(call, read.token)) return true;
            return false;
        };
        ReadAhead<Read> ahead(read_one, facts.reads_ahead);
        ProgressCount calls;
        for (int64_t taken = 0; taken < most; ++taken) {
            const Read* read = ahead.next();
            if (read == nullptr) return;
            take(read->token);
            calls += read->calls;
        }
    };
}

Marks marks_of(const Trace& trace, const std::string& marker) {
    Marks marks;
    if (!trace.base.has("v_range")) return marks;
    Query steps = trace.base.prepare(
        "SELECT enter_ns, kind, value FROM marker"
        " WHERE kind IN ('step', 'profiler_start', 'profiler_stop') AND enter_ns >= ?1 ORDER BY enter_ns");
    steps.bind(1, trace.from_ns);
    int64_t profiler_from_ns = -1;  // below 0: it is not running
    while (steps.step()) {
        const int64_t at_ns = steps.number(0);
        if (steps.text(1) == "step") {
            marks.explicit_steps.push_back({at_ns, steps.maybe(2)});
        } else if (steps.text(1) == "profiler_start") {
            profiler_from_ns = at_ns;
        } else if (profiler_from_ns >= 0) {
            marks.profiler.push_back({profiler_from_ns, at_ns});
            profiler_from_ns = -1;
        }
    }
    read_ranges(trace, marker, marks);
    marks.rests = rest_spans(trace);
    return marks;
}

}  // namespace gpushim::analysis
