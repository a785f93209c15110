// Copies besides the batch that come back in the same place of nearly every step: constants that are sent
// again, results that are read again, buffers that are copied around.
#include <algorithm>

#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "repeated.h"

namespace gpushim::analysis {

namespace rule_repeated_copies {

namespace {

constexpr double kFew = 1.5;     // of them in a step are no pattern
constexpr double kMostly = 0.5;  // of what they take
constexpr Heading kWithin = {"copy-bound", "Copies within the GPU", "the GPU copies within its own memory",
                             "results written where they are used"};

constexpr Heading kBesidesOthers = {"copy-bound", "The same copies in each step", "the GPU waits for copies",
                                    "constants kept on the GPU"};

// How many steps of each GPU were recorded, as rows: asked once, for that goes through all steps.
std::string steps_by_gpu(const Situation& run) {
    std::string rows;
    Query row = run.ask(
        "SELECT u.gpu_id, (SELECT count(*) FROM v_recorded_step s"
        " WHERE s.rank_id = u.rank_id AND NOT s.no_step) FROM gpu u");
    while (row.step())
        rows += (rows.empty() ? "(VALUES (" : ", (") + std::to_string(row.number(0)) + ", " +
                std::to_string(row.number(1)) + ")";
    return rows.empty() ? "(SELECT 0 AS column1, 0 AS column2)" : rows + ")";
}

// A batch in parts (gradients that are accumulated, steps of one model between those of another): the
// largest copies to the device come several times in a step, with kernels between them. What comes as often
// with kernels between, such as labels, is of these parts. More than eight are rather a mask for each layer.
// Asked once, not for each row.
std::string is_part(const std::string& steps) {
    const std::string sizes =
        "(SELECT gpu_id, bytes_each, sum(behind_kernels) AS times FROM copy_stat"
        " WHERE kind = 'h2d' AND position >= 0 GROUP BY gpu_id, bytes_each)";
    const std::string largest =
        "(SELECT gpu_id, max(bytes_each) AS bytes FROM copy_stat"
        " WHERE kind = 'h2d' AND position >= 0 GROUP BY gpu_id)";
    return "c.rowid IN (SELECT p.rowid FROM copy_stat p JOIN " + sizes + " t USING (gpu_id, bytes_each)" +
           " JOIN " + sizes + " l ON l.gpu_id = p.gpu_id JOIN " + largest +
           " m ON m.gpu_id = p.gpu_id AND m.bytes = l.bytes_each JOIN " + steps +
           " n ON n.column1 = p.gpu_id WHERE p.kind = 'h2d'"
           " AND 10 * l.times BETWEEN 18 * n.column2 AND 85 * n.column2"
           " AND 10 * t.times BETWEEN 9 * l.times AND 11 * l.times)";
}

// Those that recur; of the largest to the device, one that holds up least is taken for the batch.
std::string besides_the_batch(const Situation& run) {
    const std::string steps = steps_by_gpu(run);
    return "c.kind <> 'p2p' AND c.max_bytes > 4096 AND c.steps * 10 >= 9 * coalesce((SELECT column2 FROM " +
           steps + " WHERE column1 = c.gpu_id), 0) AND NOT (" + is_part(steps) +
           ") AND c.rowid <> coalesce((SELECT b.rowid FROM copy_stat b WHERE b.gpu_id = c.gpu_id"
           " AND b.kind = 'h2d' AND b.position >= 0"
           " ORDER BY b.max_bytes DESC, b.blocks_kernels_ns, b.rowid LIMIT 1), -1)";
}

std::string by_kind(const Situation& run, const std::string& those) {
    std::string kinds;
    Query row =
        run.ask("SELECT c.kind, sum(c.bytes), sum(c.count) FROM copy_stat c WHERE c.position >= 0 AND " +
                those + " GROUP BY c.kind ORDER BY 2 DESC");
    const double gpus = static_cast<double>(std::max<int64_t>(1, run.gpus()));
    while (row.step())
        kinds += (kinds.empty() ? "" : ", ") + row.text(0) + " " +
                 bytes_text(run.counted(row.real(1)) / gpus) + " in " +
                 count_text(to_int64(run.counted(row.real(2)) / gpus));
    return kinds;
}

// In which nothing else ran, of those of that kind; of all kinds: "".
double of_kind_ns(const Situation& run, const std::string& those, const std::string& kind) {
    double sum_ns = 0;
    const std::string only = kind.empty() ? "" : " AND c.kind = '" + kind + "'";
    for (const auto& [gpu, ns] : copies_where(run, those + only).ns_by_gpu) sum_ns += ns;
    return sum_ns;
}

// They run beside each other, so what they cost together is what all copies do, less what the batch does.
std::optional<Finding> look(const Situation& run) {
    const std::string those = besides_the_batch(run);
    const Work copies = copies_where(run, those);
    if (copies.count < kFew) return {};
    const Work all = copies_where(run, "1");
    std::map<int64_t, Gain> less;
    double most_ns = 0;
    const auto of = [](const Work& work, int64_t gpu) {
        const auto found = work.ns_by_gpu.find(gpu);
        return found == work.ns_by_gpu.end() ? 0 : found->second;
    };
    for (const auto& [gpu, only_ns] : run.only_copies_ns()) {
        const double its_ns = std::max(0.0, only_ns - (of(all, gpu) - of(copies, gpu)));
        less[gpu] = {its_ns / 2, its_ns};
        most_ns = std::max(most_ns, its_ns);
    }
    Finding found;
    const bool is_batch_known = !reads_back_as_much(run);
    found.title = "the same copies in every " + run.per() + " besides " +
                  (is_batch_known ? "the batch" : "the largest one to the device") + " (" +
                  by_kind(run, those) + "): " + duration_text(most_ns) +
                  " during which nothing else runs on the GPU";
    // A frame of the program, or its framework, makes these: no constant is sent, and nothing is read.
    const bool is_within = of_kind_ns(run, those, "d2d") > kMostly * of_kind_ns(run, those, "");
    if (!is_batch_known) found.heading = &kBesidesOthers;
    if (is_within) found.heading = &kWithin;
    found.try_it = run.advice({is_within ? "repeated_copies.within" : "repeated_copies"});
    found.gain = run.what_if().shorter(less);
    found.confidence = 0.6;
    found.evidence = copies.evidence;
    return found;
}

constexpr Heading kHeading = {"copy-bound", "The same copies in each step",
                              "the GPU waits for copies besides the batch", "constants kept on the GPU"};
const RuleRegistration kRegistration({"repeated_copies", Scope::kInput, look, kHeading, Programs::training});

}  // namespace

}  // namespace rule_repeated_copies

bool reads_back_as_much(const Situation& run) {
    constexpr double kMuch = 1e6;
    Query row = run.ask(
        "SELECT total(iif(kind = 'd2h', bytes, 0)), total(iif(kind = 'h2d', bytes, 0)) FROM copy_stat"
        " WHERE steps * 5 >= 4 * (SELECT max(whole_steps) FROM v_run_steps) GROUP BY gpu_id"
        " ORDER BY 1 DESC LIMIT 1");
    return run.has_steps() && row.step() && run.counted(row.real(0)) >= kMuch && row.real(1) > 0 &&
           2 * row.real(0) >= row.real(1);
}

bool copies_come_back(const Situation& run) {
    using namespace rule_repeated_copies;
    return copies_where(run, besides_the_batch(run)).count >= kFew;
}

}  // namespace gpushim::analysis
