#include "summary.h"

#include <algorithm>
#include <utility>

#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

// "key=value,key=value", as GPUSHIM_TAG has them.
std::map<std::string, std::string> tags_of(const std::string& text) {
    std::map<std::string, std::string> tags;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        const std::string one = text.substr(begin, end - begin);
        const size_t equals = one.find('=');
        if (!one.empty())
            tags[one.substr(0, equals)] = equals == std::string::npos ? "" : one.substr(equals + 1);
        begin = end + 1;
    }
    return tags;
}

template <class Use>
void for_each(const Database& run, const char* sql, Use use) {
    Query row = run.prepare(sql);
    while (row.step()) use(row);
}

std::optional<double> first(const Database& run, const char* sql) {
    Query row = run.prepare(sql);
    if (!row.step() || row.is_null(0)) return {};
    return row.real(0);
}

// Words for the differences of two maps: "a=2 (was 1)", "b gone".
std::vector<std::string> differences(const std::map<std::string, std::string>& before,
                                     const std::map<std::string, std::string>& after) {
    std::vector<std::string> words;
    for (const auto& [key, value] : after)
        if (const auto old = before.find(key); old == before.end() || old->second != value)
            words.push_back(key + "=" + value);
    for (const auto& [key, value] : before)
        if (!after.contains(key)) words.push_back(key + " unset");
    return words;
}

std::string kernels_text(const std::set<std::string>& before, const std::set<std::string>& after) {
    int64_t gone = 0, added = 0;
    for (const std::string& name : before) gone += !after.contains(name);
    for (const std::string& name : after) added += !before.contains(name);
    if (gone + added == 0) return "";
    return "kernels: " + count_text(gone) + " gone, " + count_text(added) + " new";
}

void read_figures(const Database& run, RunSummary& summary) {
    summary.busy_share = first(run, "SELECT avg(value) FROM metric WHERE name = 'busy_share'");
    summary.productive_share = first(run, "SELECT avg(value) FROM metric WHERE name = 'productive_share'");
    summary.mfu = first(run, "SELECT value FROM metric WHERE name = 'mfu'");
    summary.product_mfu = first(run, "SELECT value FROM metric WHERE name = 'product_mfu'");
    summary.joules_per_step = first(run, "SELECT avg(value) FROM metric WHERE name = 'joules_per_step'");
    summary.step_ns =
        first(run,
              "SELECT coalesce((SELECT max(mean_ns) FROM v_host_ahead), (SELECT value FROM metric"
              " WHERE name = 'step_median_ns' AND scope = 'run'))");
    summary.samples_per_s = first(run, "SELECT value FROM metric WHERE name = 'samples_per_s'");
    summary.samples_per_step = first(run, "SELECT samples_per_step FROM v_model_rate");
}

std::optional<StepParts> parts_of(const Database& run) {
    Query row = run.prepare(
        "SELECT avg(c.window_ns), avg(c.idle_ns), avg(c.exposed_transfer_ns),"
        " avg(c.waiting_for_peer_ns), avg(coalesce(s.pack_ns + s.unpack_ns, 0)), avg(coalesce("
        "  (SELECT sum(p.ns) FROM gap p JOIN idle_cause i ON i.cause = p.cause"
        "   WHERE p.gpu_id = c.gpu_id AND p.step = c.step AND i.cause_group = 'input'), 0))"
        " FROM v_gpu_counted c LEFT JOIN comm_step s ON s.gpu_id = c.gpu_id AND s.step = c.step"
        " WHERE c.basis = 'steps'");
    if (!row.step() || row.is_null(0)) return {};
    StepParts parts;
    parts.whole_ns = row.real(0);
    parts.input_ns = row.real(5);
    parts.host_ns = row.real(1) - parts.input_ns;
    parts.transfer_ns = row.real(2);
    parts.wait_ns = row.real(3);
    parts.pack_ns = row.real(4);
    parts.work_ns = parts.whole_ns - row.real(1) - parts.transfer_ns - parts.wait_ns - parts.pack_ns;
    return parts;
}

}  // namespace

const Advice* RunSummary::top() const {
    if (advice.empty() || advice.front().finding.kind != Kind::kGain) return nullptr;
    return &advice.front();
}

RunSummary summarise(const Database& run, std::string name, const Given& given) {
    RunSummary summary;
    summary.name = std::move(name);
    for_each(run, "SELECT key, value FROM run", [&](const Query& row) {
        if (row.text(0) == "started_real_ns") summary.started_real_ns = row.number(1);
        if (row.text(0) == "tag") summary.tags = tags_of(row.text(1));
    });
    for_each(run,
             "SELECT name, value FROM environment WHERE rank_id = (SELECT min(rank_id) FROM environment)",
             [&](const Query& row) { summary.environment[row.text(0)] = row.text(1); });
    for_each(run, "SELECT DISTINCT name FROM gpu",
             [&](const Query& row) { summary.gpu_names.insert(row.text(0)); });
    for_each(run, "SELECT DISTINCT name FROM kernel",
             [&](const Query& row) { summary.kernels.insert(row.text(0)); });
    const Situation situation(run.raw(), given);
    summary.ranks = situation.ranks();
    summary.gpus = situation.gpus();
    summary.advice = advise(situation);
    read_figures(run, summary);
    summary.parts = parts_of(run);
    const auto mean_ns = first(run, "SELECT avg(dur_ns) FROM v_counted_step WHERE is_slice = 0");
    if (given.samples_per_step && mean_ns.value_or(0) > 0) {
        summary.samples_per_step = static_cast<double>(*given.samples_per_step);
        summary.samples_per_s = *summary.samples_per_step * 1e9 / *mean_ns;
    }
    return summary;
}

std::string changes_text(const RunSummary& before, const RunSummary& after) {
    std::vector<std::string> words = differences(before.tags, after.tags);
    for (std::string& word : differences(before.environment, after.environment))
        words.push_back(std::move(word));
    if (before.gpu_names != after.gpu_names && !after.gpu_names.empty())
        words.push_back("GPU " + *after.gpu_names.begin());
    if (before.gpus != after.gpus) words.push_back(count_text(after.gpus) + " GPUs");
    if (before.samples_per_step && after.samples_per_step &&
        *before.samples_per_step * 1.01 < *after.samples_per_step)
        words.push_back(count_text(to_int64(*after.samples_per_step)) + " samples a step");
    if (std::string kernels = kernels_text(before.kernels, after.kernels); !kernels.empty())
        words.push_back(std::move(kernels));
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
    return text;
}

std::optional<double> gained_ns(const RunSummary& before, const RunSummary& after) {
    if (!before.step_ns || !after.step_ns) return {};
    const bool by_sample = before.samples_per_step && after.samples_per_step && *after.samples_per_step > 0;
    const double same = by_sample ? *before.samples_per_step / *after.samples_per_step : 1;
    return *before.step_ns - *after.step_ns * same;
}

}  // namespace gpushim::analysis
