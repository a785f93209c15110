#include "run_metrics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "../idle/cause.h"
#include "shim/schema/exposition.h"
#include "shim/schema/size_class.h"

namespace gpushim::analysis {

namespace {

constexpr RankState kStates[] = {RankState::running, RankState::quiet, RankState::silent,
                                 RankState::ended,   RankState::died,  RankState::unreadable};

template <class Number>
std::optional<double> times(const std::optional<Number>& figure, double factor) {
    return figure ? std::optional(static_cast<double>(*figure) * factor) : std::nullopt;
}

struct NamedPart {
    std::string_view name;
    int64_t ns;
};

std::vector<NamedPart> parts_of(const GpuParts& parts) {
    std::vector<NamedPart> named = {{"productive", parts.productive_ns}};
    if (parts.is_wait_known) named.push_back({"waiting_for_peer", parts.peer_wait_ns});
    named.push_back({parts.is_wait_known ? "exposed_comm" : "communication", parts.transfer_ns});
    named.push_back({"memory", parts.copy_ns});
    named.push_back({"idle", parts.idle.total()});
    return named;
}

// As if not all ranks were here.
void hide_wait(GpuParts& parts) {
    parts.transfer_ns += std::exchange(parts.peer_wait_ns, 0);
    parts.is_wait_known = false;
}

class RunText {
  public:
    explicit RunText(const RunNow& run) : run_(run) {}

    std::string text(const std::optional<HangNow>& hang) {
        out_.set_common(metric_labels({{"folder", run_.folder}}));
        add_run(hang);
        for (size_t i = 0; i < run_.ranks.size(); ++i) add_rank(i, hang);
        out_.set_common(metric_labels({{"folder", run_.folder}}));
        out_.add_left_out(Metric::watch_left_out_series);
        return out_.text();
    }

  private:
    using Labels = std::initializer_list<MetricLabel>;

    void add(Metric metric, std::optional<double> figure, Labels labels = {}) {
        if (figure) out_.add(metric, *figure, labels);
    }

    void add_run(const std::optional<HangNow>& hang) {
        add(Metric::watch_written_timestamp_seconds, static_cast<double>(run_.taken_real_ns) * 1e-9);
        if (hang) add(Metric::run_hang, hang->is_hung ? 1 : 0);
        if (hang) add_absent(*hang);
        for (const RankState state : kStates) {
            const auto processes = std::count_if(run_.ranks.begin(), run_.ranks.end(),
                                                 [&](const RankNow& rank) { return rank.state == state; });
            add(Metric::run_processes, static_cast<double>(processes), {{"state", name_of(state)}});
        }
        const bool is_running = std::any_of(run_.ranks.begin(), run_.ranks.end(), [](const RankNow& rank) {
            return rank.state == RankState::running;
        });
        if (is_running) add_collectives();
    }

    // Nobody knows on which host they were to be; the job is that of the others.
    void add_absent(const HangNow& hang) {
        const std::string job = run_.ranks.empty() ? "" : run_.ranks.front().job;
        for (const int64_t rank : hang.absent) {
            const std::string number = std::to_string(rank);
            out_.set_common(metric_labels({{"folder", run_.folder}, {"rank", number}, {"job_id", job}}));
            add(Metric::rank_missing, 1);
        }
        out_.set_common(metric_labels({{"folder", run_.folder}}));
    }

    void add_collectives() {
        for (const CollectiveRate& rate : run_.collectives) {
            const std::string size = size_label(rate.size), ranks = std::to_string(rate.ranks);
            const Labels labels = {{"collective", rate.api}, {"size", size}, {"ranks", ranks}};
            add(Metric::collective_algbw_bytes_per_second, rate.algbw_bytes_per_s, labels);
            add(Metric::collective_busbw_bytes_per_second, rate.busbw_bytes_per_s, labels);
        }
    }

    void add_rank(size_t index, const std::optional<HangNow>& hang) {
        const RankNow& rank = run_.ranks[index];
        if (rank.pid == 0) return;  // nobody knows whose trace it is: `run_processes` counts it
        const std::string number = rank.rank ? std::to_string(*rank.rank) : "";
        const std::string pid = std::to_string(rank.pid);
        out_.set_common(metric_labels(
            {{"host", rank.host}, {"rank", number}, {"pid", pid}, {"job_id", rank.job}, {"pod", rank.pod}}));
        for (const RankState state : kStates)
            add(Metric::rank_state, rank.state == state ? 1 : 0, {{"state", name_of(state)}});
        if (hang && rank.rank && hang->missing.contains(*rank.rank)) add(Metric::rank_missing, 1);
        add(Metric::rank_dropped_events, static_cast<double>(rank.dropped));
        // What a rank was doing when it was last heard of is no figure of now.
        const bool is_there = rank.state == RankState::running || rank.state == RankState::quiet;
        if (is_there || rank.state == RankState::silent)
            add(Metric::rank_news_age_seconds, times(rank.news_age_ns, 1e-9));
        if (is_there) {
            add_figures(rank);
            add_change(rank);
        }
        if (rank.state != RankState::running) return;
        if (run_.slowest == index) add(Metric::rank_slowest, 1);
        add_shares(rank);
    }

    void add_figures(const RankNow& rank) {
        add(Metric::rank_step_seconds, times(rank.pace.median_ns, 1e-9));
        add(Metric::rank_step_change_ratio, rank.pace.change);
        add(Metric::rank_own_cost_ratio, rank.own_share);
        add(Metric::rank_writer_cpu_ratio, rank.writer_share);
        for (const GpuNow& gpu : rank.gpus) {
            const Labels labels = {{"gpu", gpu.uuid}};
            add(Metric::gpu_memory_used_bytes, gpu.memory_used_bytes, labels);
            add(Metric::gpu_memory_total_bytes, gpu.memory_total_bytes, labels);
            add(Metric::gpu_power_watts, times(gpu.power_mw, 1e-3), labels);
            add(Metric::gpu_power_limit_watts, times(gpu.power_limit_mw, 1e-3), labels);
        }
    }

    void add_change(const RankNow& rank) {
        if (!rank.change) return;
        const PaceChange& change = *rank.change;
        add(Metric::rank_changed_timestamp_seconds, static_cast<double>(rank.changed_real_ns) * 1e-9);
        add(Metric::rank_changed_step, static_cast<double>(rank.changed_step));
        add(Metric::rank_changed_before_seconds, change.before_ns * 1e-9);
        add(Metric::rank_changed_ratio, change.ratio());
        for (const GpuNow& gpu : rank.gpus)
            if (gpu.parts_before && gpu.parts_since) add_changed_parts(gpu, change);
    }

    void add_changed_parts(const GpuNow& gpu, const PaceChange& change) {
        GpuParts before = *gpu.parts_before, since = *gpu.parts_since;
        const bool is_wait_known = before.is_wait_known && since.is_wait_known;
        for (GpuParts* parts : {&before, &since})
            if (!is_wait_known) hide_wait(*parts);
        const auto longer_s = [&](int64_t now_ns, int64_t then_ns) {
            return (since.share(now_ns) * change.after_ns - before.share(then_ns) * change.before_ns) * 1e-9;
        };
        const std::vector<NamedPart> now = parts_of(since), then = parts_of(before);
        for (size_t i = 0; i < now.size(); ++i)
            add(Metric::gpu_changed_part_seconds, longer_s(now[i].ns, then[i].ns),
                {{"gpu", gpu.uuid}, {"part", now[i].name}});
        for (const CauseRow& row : kCauses)
            if (since.idle[row.cause] > 0 || before.idle[row.cause] > 0)
                add(Metric::gpu_changed_idle_seconds, longer_s(since.idle[row.cause], before.idle[row.cause]),
                    {{"gpu", gpu.uuid}, {"cause", row.name}});
    }

    void add_shares(const RankNow& rank) {
        add(Metric::rank_window_age_seconds, times(rank.window_age_ns, 1e-9));
        for (const GpuNow& gpu : rank.gpus) {
            if (!gpu.parts) continue;
            const GpuParts& parts = *gpu.parts;
            for (const NamedPart& part : parts_of(parts))
                add(Metric::gpu_share_ratio, parts.share(part.ns), {{"gpu", gpu.uuid}, {"part", part.name}});
            for (const CauseRow& row : kCauses)
                if (parts.idle[row.cause] > 0)
                    add(Metric::gpu_idle_ratio, parts.share(parts.idle[row.cause]),
                        {{"gpu", gpu.uuid}, {"cause", row.name}});
        }
    }

    const RunNow& run_;
    Exposition out_;
};

}  // namespace

std::string run_metrics(const RunNow& run, const std::optional<HangNow>& hang) {
    return RunText(run).text(hang);
}

}  // namespace gpushim::analysis
