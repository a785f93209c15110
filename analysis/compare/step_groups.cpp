#include "step_groups.h"

#include <algorithm>
#include <utility>

namespace gpushim::analysis {

namespace {

using StepId = std::pair<int64_t, int64_t>;  // rank_id, step

struct RankStep {
    StepId id;
    int64_t length_ns;
};

struct JobStep {
    int64_t signature = 0, length_ns = 0;
    std::vector<RankStep> of_ranks;
};

// By number, which the ranks of a job share; the first rank says what is in it.
std::map<int64_t, JobStep> job_steps(const Database& run) {
    std::map<int64_t, JobStep> steps;
    Query row = run.prepare(
        "SELECT rank_id, step, number, dur_ns, signature FROM v_counted_step WHERE is_slice = 0"
        " ORDER BY rank_id, step");
    while (row.step()) {
        JobStep& step = steps[row.number(2)];
        const int64_t length_ns = row.number(3);
        if (step.of_ranks.empty()) step.signature = row.number(4);
        step.length_ns = std::max(step.length_ns, length_ns);
        step.of_ranks.push_back({{row.number(0), row.number(1)}, length_ns});
    }
    return steps;
}

// Where the host is ahead of the GPU (v_host_ahead): of the steps from behind one in which it waits to the
// next such their mean, which is what a step takes; what no wait ends is left out.
//
//   steps    ||||████|||||█████|||
//   rounds   |  1   |    2    |
//
// Ranks may wait in different steps: of a round the rank counts that took longest for all of it.
std::map<int64_t, JobStep> by_rounds(std::map<int64_t, JobStep> steps) {
    std::map<int64_t, JobStep> rounds;
    int64_t sum_ns = 0, in_round = 0;
    std::map<int64_t, int64_t> by_rank_ns;  // of the round
    for (const auto& [number, step] : steps) sum_ns += step.length_ns;
    JobStep round;
    for (auto& [number, step] : steps) {
        if (in_round == 0) round = {step.signature, 0, {}};
        round.of_ranks.insert(round.of_ranks.end(), step.of_ranks.begin(), step.of_ranks.end());
        for (const RankStep& of_rank : step.of_ranks) by_rank_ns[of_rank.id.first] += of_rank.length_ns;
        ++in_round;
        if (step.length_ns <= sum_ns / static_cast<int64_t>(steps.size())) continue;
        for (const auto& [rank, ns] : by_rank_ns) round.length_ns = std::max(round.length_ns, ns / in_round);
        for (RankStep& of_rank : round.of_ranks) of_rank.length_ns = round.length_ns;
        rounds[number] = std::move(round);
        by_rank_ns.clear();
        in_round = 0;
    }
    return rounds;
}

bool is_host_ahead(const Database& run) { return run.prepare("SELECT 1 FROM v_host_ahead").step(); }

// A part for each set of classes (sql/tables, activity): what stands first here and is in it.
struct PartOfClasses {
    int64_t classes;
    const char* name;
};
constexpr PartOfClasses kParts[] = {{1 | 256, "compute"},
                                    {8 | 16 | 32 | 64 | 128 | 512, "copies"},
                                    {2, "collectives"},
                                    {4, "waiting for peers"}};

const char* part_of(int64_t classes) {
    for (const PartOfClasses& part : kParts)
        if ((classes & part.classes) != 0) return part.name;
    return "other work";
}

// What ran and why nothing ran, of each step that a GPU was timed in from begin to end.
struct Timed {
    struct Row {
        StepId id;
        size_t part;  // of names
        int64_t ns;
    };
    std::vector<Row> rows;  // by id
    std::vector<std::string> names;
    std::map<StepId, int64_t> gpus;  // so many GPUs of that rank

    void add(const Query& row, const std::string& name) {
        const auto found = std::find(names.begin(), names.end(), name);
        rows.push_back(
            {{row.number(0), row.number(1)}, static_cast<size_t>(found - names.begin()), row.number(2)});
        if (found == names.end()) names.push_back(name);
    }
};

bool is_before(const Timed::Row& row, const StepId& id) { return row.id < id; }

Timed read_timed(const Database& run) {
    Timed timed;
    Query ran = run.prepare(
        "SELECT u.rank_id, a.step, a.ns, a.classes FROM activity a JOIN gpu u ON u.gpu_id = a.gpu_id"
        " WHERE a.step >= 0 AND a.classes > 0");
    while (ran.step()) timed.add(ran, part_of(ran.number(3)));
    Query idle = run.prepare(
        "SELECT u.rank_id, p.step, p.ns, p.cause FROM gap p JOIN gpu u ON u.gpu_id = p.gpu_id"
        " WHERE p.step >= 0");
    while (idle.step()) timed.add(idle, "idle: " + idle.text(3));
    std::sort(timed.rows.begin(), timed.rows.end(),
              [](const Timed::Row& a, const Timed::Row& b) { return a.id < b.id; });
    Query whole = run.prepare(
        "SELECT u.rank_id, s.step, count(*) FROM gpu_step s JOIN gpu u ON u.gpu_id = s.gpu_id"
        " WHERE s.step >= 0 GROUP BY u.rank_id, s.step");
    while (whole.step()) timed.gpus[{whole.number(0), whole.number(1)}] = whole.number(2);
    return timed;
}

// The middle half by length, so that a mean is like a median: steps that nobody took for usual stay out.
std::optional<StepSplit> split_of(std::vector<RankStep> steps, const Timed& timed) {
    std::erase_if(steps, [&](const RankStep& step) { return !timed.gpus.contains(step.id); });
    if (steps.empty()) return {};
    std::sort(steps.begin(), steps.end(), [](const RankStep& a, const RankStep& b) {
        return std::pair(a.length_ns, a.id) < std::pair(b.length_ns, b.id);
    });
    const size_t quarter = steps.size() / 4;
    StepSplit split;
    int64_t gpu_steps = 0;
    for (size_t i = quarter; i < steps.size() - quarter; ++i) {
        gpu_steps += timed.gpus.at(steps[i].id);
        auto row = std::lower_bound(timed.rows.begin(), timed.rows.end(), steps[i].id, is_before);
        for (; row != timed.rows.end() && row->id == steps[i].id; ++row)
            split.parts_ns[timed.names[row->part]] += static_cast<double>(row->ns);
    }
    for (auto& [name, ns] : split.parts_ns) ns /= static_cast<double>(gpu_steps);
    return split;
}

StepGroup group_of(const std::map<int64_t, JobStep>& steps, std::optional<int64_t> signature,
                   const Timed& timed) {
    StepGroup group;
    group.signature = signature;
    std::vector<RankStep> of_ranks;
    for (const auto& [number, step] : steps) {
        if (signature && step.signature != *signature) continue;
        group.lengths_ns.push_back(step.length_ns);
        of_ranks.insert(of_ranks.end(), step.of_ranks.begin(), step.of_ranks.end());
    }
    group.count = static_cast<int64_t>(group.lengths_ns.size());
    group.lengths_ns = thinned(group.lengths_ns, kMostLengths);
    group.split = split_of(std::move(of_ranks), timed);
    return group;
}

}  // namespace

double StepSplit::whole_ns() const {
    double sum_ns = 0;
    for (const auto& [name, ns] : parts_ns) sum_ns += ns;
    return sum_ns;
}

std::vector<int64_t> thinned(const std::vector<int64_t>& lengths_ns, size_t most) {
    const size_t every = (lengths_ns.size() + most - 1) / most;
    if (every < 2) return lengths_ns;
    std::vector<int64_t> left;
    for (size_t i = 0; i < lengths_ns.size(); i += every) left.push_back(lengths_ns[i]);
    return left;
}

std::vector<StepGroup> step_groups(const Database& run) {
    std::map<int64_t, JobStep> steps = job_steps(run);
    if (is_host_ahead(run)) steps = by_rounds(std::move(steps));
    if (steps.empty()) return {};
    const Timed timed = read_timed(run);
    std::map<int64_t, size_t> alike;
    for (const auto& [number, step] : steps) ++alike[step.signature];
    std::vector<StepGroup> groups = {group_of(steps, {}, timed)};
    for (const auto& [signature, count] : alike)
        if (static_cast<double>(count) >= kFewestAlike * static_cast<double>(steps.size()))
            groups.push_back(group_of(steps, signature, timed));
    return groups;
}

}  // namespace gpushim::analysis
