// Calls by the API's name: counts and times of the whole run, medians and squares of the rows that are there.
#include <algorithm>
#include <map>
#include <vector>

#include "../sql/histogram.h"
#include "../sql/run_db.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

struct Calls {
    int64_t calls = 0, sum_ns = 0;
    std::optional<int64_t> min_ns, max_ns;
    Moments rows;
    Histogram times;
};

class ApiPart : public PartByCall<ApiPart> {
  public:
    explicit ApiPart(const TraceFacts& facts) : facts_(facts) {
        // Both are small numbers, given out in order.
        Query query = facts.trace->base.prepare("SELECT id, api_id FROM shape WHERE id >= 0");
        while (query.step()) {
            const auto id = static_cast<size_t>(query.number(0));
            if (id >= kMostShapes) continue;
            if (id >= api_of_shape_.size()) api_of_shape_.resize(id + 1, kNotRecorded);
            api_of_shape_[id] = query.number(1);
        }
    }

    [[gnu::always_inline]] void see(const Call& call) override {
        const bool is_operation = call.kind == CallKind::operation;  // most are
        if (!is_operation && !is_call(call.kind)) return;
        const int64_t api_id = is_operation && call.api_id < 0 ? api_of_shape(call.detail) : call.api_id;
        if (api_id < 0) return;
        Calls& calls = calls_of(api_id);
        const int64_t count = call.kind == CallKind::sync ? std::max<int64_t>(1, call.detail) : 1;
        const int64_t took_ns = call.exit_ns - call.enter_ns;
        calls.calls += count;
        calls.rows.add(took_ns);
        calls.times.add(took_ns);
    }

    void finish(RunDb& run) override {
        for (auto& [id, calls] : all_) {
            calls.sum_ns = calls.rows.sum;
            calls.min_ns = calls.rows.min;
            calls.max_ns = calls.rows.max;
        }
        if (has_totals(*facts_.trace)) read_totals();
        for (const auto& [id, calls] : all_)
            if (calls.calls > 0) write(run, id, calls);
    }

  private:
    static constexpr size_t kMostShapes = 1 << 22;

    int64_t api_of_shape(int64_t id) const {
        const auto shape = static_cast<uint64_t>(id);
        return shape < api_of_shape_.size() ? api_of_shape_[shape] : kNotRecorded;
    }

    // Calls come in runs of the same name.
    Calls& calls_of(int64_t api_id) {
        if (last_ == nullptr || last_id_ != api_id) {
            last_ = &all_[api_id];
            last_id_ = api_id;
        }
        return *last_;
    }

    // Captured and failed calls are calls.
    void read_totals() {
        for (auto& [id, calls] : all_) calls.calls = 0;
        Query query = facts_.trace->base.prepare(
            "SELECT s.api_id, sum(t.calls), sum(t.sum_ns), min(t.min_ns), max(t.max_ns) FROM series s"
            " JOIN v_series_total t ON t.series_id = s.id WHERE s.kind NOT LIKE '%_device'"
            " AND s.api_id IS NOT NULL GROUP BY s.api_id");
        while (query.step()) {
            Calls& calls = all_[query.number(0)];
            calls.calls = query.number(1);
            calls.sum_ns = query.number(2);
            calls.min_ns = query.maybe(3);
            calls.max_ns = query.maybe(4);
        }
    }

    void write(RunDb& run, int64_t id, const Calls& c) const {
        const auto api = facts_.apis.find(id);
        run.add("api_stat",
                {facts_.rank_id, api == facts_.apis.end() ? "(" + std::to_string(id) + ")" : api->second.name,
                 c.calls, c.sum_ns, maybe(c.min_ns), maybe(c.max_ns), c.rows.count, c.rows.sum,
                 c.rows.squares, maybe(c.times.value(0.5))});
    }

    const TraceFacts& facts_;
    std::vector<int64_t> api_of_shape_;
    std::map<int64_t, Calls> all_;
    Calls* last_ = nullptr;
    int64_t last_id_ = kNotRecorded;
};

const PartRegistration kApiPart(make_api_part);

}  // namespace

std::unique_ptr<Part> make_api_part(const TraceFacts& facts) { return std::make_unique<ApiPart>(facts); }

}  // namespace gpushim::analysis
