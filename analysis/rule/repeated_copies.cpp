// Copies besides the batch that come back in the same place of nearly every step: constants that are sent
// again, results that are read again, buffers that are copied around.
#include <algorithm>

#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace {

// Of a GPU's copies to the device the largest in a step is taken for the batch.
constexpr const char* kBesidesTheBatch =
    "c.steps * 10 >= 9 * (SELECT count(*) FROM step s JOIN gpu u ON u.rank_id = s.rank_id"
    "                     WHERE u.gpu_id = c.gpu_id)"
    " AND NOT (c.kind = 'h2d' AND c.max_bytes = (SELECT max(b.max_bytes) FROM copy_stat b"
    "          WHERE b.gpu_id = c.gpu_id AND b.kind = 'h2d' AND b.position >= 0))"
    " AND c.max_bytes > 4096";

std::optional<Finding> look(const Situation& run) {
    const Work copies = copies_where(run, kBesidesTheBatch);
    if (copies.ns <= 0) return {};
    std::string kinds;
    Query row =
        run.ask("SELECT c.kind, sum(c.bytes), sum(c.count) FROM copy_stat c WHERE c.position >= 0 AND " +
                std::string(kBesidesTheBatch) + " GROUP BY c.kind ORDER BY 2 DESC");
    const double gpus = static_cast<double>(std::max<int64_t>(1, run.gpus()));
    while (row.step())
        kinds += (kinds.empty() ? "" : ", ") + row.text(0) + " " +
                 bytes_text(run.counted(row.real(1)) / gpus) + " in " +
                 count_text(static_cast<int64_t>(run.counted(row.real(2)) / gpus + 0.5));
    Finding found;
    found.title = "the same copies in every " + run.per() + " besides the batch (" + kinds +
                  "): " + duration_text(copies.ns) + " in which nothing else runs on the GPU";
    found.try_it =
        "make constants once and keep them on the device; no .cpu(), .item() or .numpy() in the"
        " loop; write into tensors in place instead of copying them; in TensorFlow no tf.py_function"
        " and no placement by hand between devices";
    found.gain = copies.shorter_by({0.5, 1.0}, run);
    found.confidence = 0.6;
    found.evidence = copies.evidence;
    return found;
}

const RuleRegistration kRegistration({"repeated_copies", Scope::kOneGpu, look});

}  // namespace

}  // namespace gpushim::analysis
