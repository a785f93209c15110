// What each stream was used for. Counts and bytes of the whole run, durations of pieces.
#include <algorithm>
#include <array>

#include "../../../shim/schema/flags.h"
#include "../sql/run_db.h"
#include "copies.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

constexpr double kRole = 0.8;  // so much of what a stream does is its role

enum Use : size_t { compute, comm, h2d, d2h, d2d, memset, uses };
constexpr const char* kRoles[] = {"compute", "comm", "h2d", "d2h", "d2d", "compute"};

Use use_of(OperationClass type) {
    switch (type) {
        case OperationClass::comm:
            return comm;
        case OperationClass::h2d:
            return h2d;
        case OperationClass::d2h:
            return d2h;
        case OperationClass::d2d:
        case OperationClass::p2p:
        case OperationClass::copy:
            return d2d;
        case OperationClass::memset:
            return memset;
        default:
            return compute;
    }
}

using ByUse = std::array<int64_t, uses>;
using ByType = std::array<int64_t, static_cast<size_t>(OperationClass::graph) + 1>;

ByUse by_use_of(const ByType& by_type) {
    ByUse by_use{};
    for (size_t type = 0; type < by_type.size(); ++type)
        by_use[use_of(static_cast<OperationClass>(type))] += by_type[type];
    return by_use;
}

struct Stream {
    int64_t launches = 0, copies = 0, memsets = 0, graphs = 0, collectives = 0, bytes = 0;
    ByType operations{}, busy_ns{};
    int64_t covered_ns = INT64_MIN;  // until then its time is counted
    int64_t first_ns = INT64_MAX;

    int64_t all() const { return launches + copies + memsets + graphs + collectives; }
    int64_t count(OperationClass type) const { return operations[static_cast<size_t>(type)]; }
};

int64_t sum(const ByUse& by_use) {
    int64_t all = 0;
    for (const int64_t one : by_use) all += one;
    return all;
}

Value role_of(const Stream& stream) {
    if (stream.all() == 0) return std::string("idle");
    const ByUse busy_ns = by_use_of(stream.busy_ns);
    ByUse by_use = sum(busy_ns) > 0 ? busy_ns : by_use_of(stream.operations);
    const int64_t whole = sum(by_use);
    if (whole == 0) return nullptr;  // the totals do not say what
    by_use[compute] += by_use[memset];
    by_use[memset] = 0;
    const auto most = std::max_element(by_use.begin(), by_use.end());
    const bool is_role = static_cast<double>(*most) >= kRole * static_cast<double>(whole);
    return std::string(is_role ? kRoles[most - by_use.begin()] : "mixed");
}

class StreamPart : public PartByCall<StreamPart> {
  public:
    explicit StreamPart(const TraceFacts& facts) : facts_(facts), places_(facts), all_(places_.size()) {}

    void see(const Call& call) override {
        Stream& stream = all_[places_.of(call)];
        if (call.kind == CallKind::collective) ++stream.collectives;
        if (call.kind != CallKind::operation) return;
        ++stream.operations[static_cast<size_t>(call.type)];
        if (is_copy(call)) stream.bytes += std::max<int64_t>(call.bytes, 0);
    }

    void take(const Call& call, bool before) override {
        if (call.kind != CallKind::operation || !call.timed || before) return;
        Stream& stream = all_[places_.of(call)];
        const int64_t from_ns = std::max(call.times.start_ns, stream.covered_ns);
        if (call.times.end_ns <= from_ns) return;
        stream.busy_ns[static_cast<size_t>(call.type)] += call.times.end_ns - from_ns;
        stream.covered_ns = call.times.end_ns;
        if (call.times.start_ns < stream.first_ns) stream.first_ns = call.times.start_ns;
    }

    void finish(RunDb& run) override {
        for (Stream& stream : all_) count_rows(stream);
        add_totals();
        for (size_t i = 0; i < all_.size(); ++i)
            if (i + 1 < all_.size() || all_[i].all() > 0) write(run, places_[i], all_[i]);
    }

  private:
    static void count_rows(Stream& stream) {
        using Type = OperationClass;
        stream.launches = stream.count(Type::compute) + stream.count(Type::comm);
        stream.graphs = stream.count(Type::graph);
        stream.memsets = stream.count(Type::memset);
        for (const Type type : {Type::h2d, Type::d2h, Type::d2d, Type::p2p, Type::copy})
            stream.copies += stream.count(type);
    }

    void add_totals() {
        if (!has_totals(*facts_.trace)) return;
        for (Stream& stream : all_)
            stream.launches = stream.copies = stream.memsets = stream.graphs = stream.collectives =
                stream.bytes = 0;
        Query query = facts_.trace->base.prepare(
            "SELECT s.stream_id, s.kind, sum(t.events), sum(t.bytes) FROM series s"
            " JOIN v_series_total t ON t.series_id = s.id"
            " WHERE " +
            kRan.sql("s") + " AND s.direction IS NOT 5 GROUP BY s.stream_id, s.kind");
        while (query.step())
            add_total(all_[places_.of_stream(query.maybe(0))], query.text(1), query.number(2),
                      query.number(3));
    }

    static void add_total(Stream& stream, const std::string& kind, int64_t events, int64_t bytes) {
        if (kind == "launch") stream.launches += events;
        if (kind == "graph_launch") stream.graphs += events;
        if (kind == "memset") stream.memsets += events;
        if (kind == "collective") stream.collectives += events;
        if (kind != "copy") return;
        stream.copies += events;
        stream.bytes += bytes;
    }

    static void write(RunDb& run, const Place& place, const Stream& s) {
        const bool ran = s.covered_ns > s.first_ns;
        const ByUse busy_ns = by_use_of(s.busy_ns);
        run.add("stream_stat",
                {place.gpu_id, place.stream_id, place.stream, role_of(s), s.launches, s.copies, s.memsets,
                 s.graphs, s.collectives, s.bytes, sum(busy_ns), busy_ns[compute], busy_ns[comm],
                 busy_ns[h2d], busy_ns[d2h], busy_ns[d2d], busy_ns[memset],
                 ran ? Value(s.first_ns) : Value(nullptr), ran ? Value(s.covered_ns) : Value(nullptr)});
    }

    const TraceFacts& facts_;
    const Places places_;
    std::vector<Stream> all_;  // by place
};

const PartRegistration kStreamPart(make_stream_part);

}  // namespace

std::unique_ptr<Part> make_stream_part(const TraceFacts& facts) {
    return std::make_unique<StreamPart>(facts);
}

}  // namespace gpushim::analysis
