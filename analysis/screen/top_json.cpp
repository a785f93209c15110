#include "top_json.h"

namespace gpushim::analysis {

namespace {

constexpr int kSchema = 1;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::optional<double> part_of(const GpuNow& gpu, int64_t GpuParts::*part) {
    return gpu.parts ? std::optional(gpu.parts->share((*gpu.parts).*part)) : std::nullopt;
}

Json idle_json(const GpuParts& parts) {
    Json causes = Json::object();
    for (const CauseRow& row : kCauses)
        if (parts.idle[row.cause] > 0) causes.set(row.name, parts.share(parts.idle[row.cause]));
    return causes;
}

Json gpu_json(const GpuNow& gpu) {
    const bool is_wait_known = gpu.parts && gpu.parts->is_wait_known;
    const auto idle = gpu.parts ? std::optional(gpu.parts->share(gpu.parts->idle.total())) : std::nullopt;
    std::string why = gpu.why_no_parts;
    if (gpu.parts && !is_wait_known)
        why =
            "not all ranks of its collectives are here: how long it waited for them is not known, and is "
            "within exposed_comm_share";
    return Json::object(
        {{"gpu", gpu.uuid},
         {"name", gpu.name},
         {"simulated", gpu.is_simulated},
         {"window_ns", gpu.parts ? Json(gpu.parts->whole_ns) : Json()},
         {"productive_share", part_of(gpu, &GpuParts::productive_ns)},
         {"exposed_comm_share", part_of(gpu, &GpuParts::transfer_ns)},
         {"waiting_for_peer_share", is_wait_known ? Json(part_of(gpu, &GpuParts::peer_wait_ns)) : Json()},
         {"memory_share", part_of(gpu, &GpuParts::copy_ns)},
         {"idle_share", idle},
         {"idle_by_cause", gpu.parts ? idle_json(*gpu.parts) : Json()},
         {"why", text_or_null(why)},
         {"memory_used_bytes", gpu.memory_used_bytes},
         {"memory_total_bytes", gpu.memory_total_bytes},
         {"power_mw", gpu.power_mw},
         {"power_limit_mw", gpu.power_limit_mw},
         {"temperature_c", gpu.temperature_c},
         {"sm_mhz", gpu.sm_mhz}});
}

std::string why_no_step(const RankNow& rank) {
    if (rank.pace.median_ns) return "";
    return rank.pace.course_ns.empty() ? "no steps are marked, and none were found in the newest window"
                                       : "no step ended in the last 10 s";
}

Json rank_json(const RankNow& rank) {
    Json gpus = Json::array();
    for (const GpuNow& gpu : rank.gpus) gpus.push(gpu_json(gpu));
    return Json::object({{"rank", rank.rank},
                         {"host", rank.host},
                         {"pid", rank.pid},
                         {"trace", rank.trace},
                         {"state", name_of(rank.state)},
                         {"why", text_or_null(rank.why)},
                         {"news_age_ns", rank.news_age_ns},
                         {"call_age_ns", rank.call_age_ns},
                         {"open_call", text_or_null(rank.open_call)},
                         {"step_median_ns", rank.pace.median_ns},
                         {"step_change", rank.pace.change},
                         {"steps", rank.pace.steps},
                         {"steps_marked", rank.pace.median_ns ? Json(rank.pace.is_marked) : Json()},
                         {"step_why", text_or_null(why_no_step(rank))},
                         {"own_cost_share", rank.own_share},
                         {"writer_share", rank.writer_share},
                         {"dropped", rank.dropped},
                         {"window_age_ns", rank.window_age_ns},
                         {"gpus", std::move(gpus)}});
}

}  // namespace

Json top_json(const RunNow& run) {
    Json ranks = Json::array();
    for (const RankNow& rank : run.ranks) ranks.push(rank_json(rank));
    Json notes = Json::array();
    for (const std::string& note : run.notes) notes.push(note);
    return Json::object({{"schema", kSchema},
                         {"folder", run.folder},
                         {"program", text_or_null(run.program)},
                         {"taken_real_ns", run.taken_real_ns},
                         {"started_real_ns", run.started_real_ns},
                         {"ranks_expected", run.ranks_expected},
                         {"simulated", run.is_simulated()},
                         {"slowest_trace", run.slowest ? Json(run.ranks[*run.slowest].trace) : Json()},
                         {"notes", std::move(notes)},
                         {"ranks", std::move(ranks)}});
}

}  // namespace gpushim::analysis
