// The host's waits by API and by what was waited for: calls and times of the whole run.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "../../../shim/schema/flags.h"
#include "../../trace/plausible.h"
#include "../sql/run_db.h"
#include "copies.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

constexpr const char* kTargets[] = {"", "stream", "event", "context", "communicator"};  // '': not told

struct Waits {
    int64_t calls = 0, sum_ns = 0, max_ns = 0, in_steps = 0, steps = 0, after_small_d2h = 0;
    int32_t last_step = kNoStep;
};

class SyncPart : public PartByCall<SyncPart> {
  public:
    explicit SyncPart(const TraceFacts& facts) : facts_(facts) { read_targets(); }

    void see(const Call& call) override {
        if (call.kind == CallKind::sync) see_sync(call);
        // What a copy is followed by may be told in between: events, attributes.
        if (call.kind == CallKind::sync) after_small_.erase(call.thread_id);
        if (call.kind != CallKind::operation) return;
        if (call.type == OperationClass::d2h && call.bytes >= 0 && call.bytes <= kSmallCopyBytes)
            after_small_.insert(call.thread_id);
        else if (!after_small_.empty())
            after_small_.erase(call.thread_id);
    }

    void finish(RunDb& run) override {
        if (has_totals(*facts_.trace)) read_totals();
        for (const auto& [key, waits] : all_)
            if (waits.calls > 0)
                run.add("sync_stat",
                        {facts_.rank_id, key.first, key.second, waits.calls, known(waits.sum_ns),
                         known(waits.max_ns), waits.in_steps, waits.steps, waits.after_small_d2h});
    }

  private:
    using Key = std::pair<std::string, std::string>;

    static Value known(int64_t ns) { return ns == kNotRecorded ? Value(nullptr) : Value(ns); }

    // A byte for each object that can be waited for.
    void read_targets() {
        Query query = facts_.trace->base.prepare(
            "SELECT id, kind FROM handle WHERE kind IN ('stream', 'event', 'context', 'communicator')");
        while (query.step()) {
            const auto id = static_cast<size_t>(query.number(0));
            if (id >= kMostHandles) continue;
            if (id >= targets_.size()) targets_.resize(id + 1);
            const auto* found = std::find(std::begin(kTargets), std::end(kTargets), query.text(1));
            targets_[id] = static_cast<uint8_t>(found - kTargets);
        }
    }

    const char* target_of(const Call& call) const {
        const auto id = static_cast<size_t>(call.target_id);
        return call.target_id >= 0 && id < targets_.size() ? kTargets[targets_[id]] : "";
    }

    Waits& waits_of(const Call& call) {
        const char* target = target_of(call);
        Waits*& waits = known_[{call.api_id, target}];
        if (waits == nullptr) {
            const auto api = facts_.apis.find(call.api_id);
            waits = &all_[{api == facts_.apis.end() ? "(not known)" : api->second.name, target}];
        }
        return *waits;
    }

    void see_sync(const Call& call) {
        const auto api = facts_.apis.find(call.api_id);
        if (api != facts_.apis.end() && api->second.kind == "query") return;  // it asks and does not wait
        Waits& waits = waits_of(call);
        const int64_t calls = std::max<int64_t>(1, call.detail), took_ns = call.exit_ns - call.enter_ns;
        waits.calls += calls;
        waits.sum_ns += took_ns;
        waits.max_ns = std::max(waits.max_ns, took_ns);
        waits.after_small_d2h += after_small_.contains(call.thread_id);
        if (call.step == kNoStep || facts_.are_slices) return;
        waits.in_steps += calls;
        waits.steps += call.step != waits.last_step;
        waits.last_step = call.step;
    }

    void read_totals() {
        for (auto& [key, waits] : all_) {
            waits.calls = 0;
            waits.sum_ns = waits.max_ns = kNotRecorded;
        }
        Query query = facts_.trace->base.prepare(
            "SELECT a.name, coalesce(s.target_kind, ''), sum(t.calls), sum(t.sum_ns), max(t.max_ns)"
            " FROM series s JOIN v_series_total t ON t.series_id = s.id JOIN api a ON a.id = s.api_id"
            " WHERE s.kind = 'sync' AND " +
            kRan.sql("s") + " AND a.kind = 'sync' GROUP BY 1, 2");
        while (query.step()) {
            Waits& waits = all_[{query.text(0), query.text(1)}];
            waits.calls = query.number(2);
            if (is_plausible_call(query.number(3))) waits.sum_ns = query.number(3);
            if (is_plausible_call(query.number(4))) waits.max_ns = query.number(4);
        }
    }

    static constexpr size_t kMostHandles = 1 << 28;

    const TraceFacts& facts_;
    std::vector<uint8_t> targets_;  // by handle
    std::map<Key, Waits> all_;
    std::map<std::pair<int64_t, const char*>, Waits*> known_;
    std::unordered_set<int64_t> after_small_;  // threads whose last operation was a small copy to the host
};

const PartRegistration kSyncPart(make_sync_part);

}  // namespace

std::unique_ptr<Part> make_sync_part(const TraceFacts& facts) { return std::make_unique<SyncPart>(facts); }

}  // namespace gpushim::analysis
