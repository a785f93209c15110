// The GPU waits for the next batch: the thread that launches loads it, or waits for workers that do.
#include <algorithm>
#include <map>
#include <utility>

#include "../advice/contention.h"
#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_input_bound {

namespace {

constexpr double kMuch = 1e6;  // bytes of a step: results that are read are smaller
constexpr double kOften = 3;   // in a step: a loss is read once

// What comes back and goes out in nearly every step. Where as much comes back as goes out, an optimizer on
// the processor may lie between the two, an average of the weights or an image's file; where the host reads
// many times and sends as often, a simulator may. No call tells these from loading a batch.
struct Exchange {
    double back_bytes = 0, out_bytes = 0;
    double sent = 0, read = 0, waits = 0;  // how often in a step: the GPU waits before what is sent
    double batches = 0;                    // of a step, that are trained on
    bool is_large() const { return back_bytes >= kMuch && out_bytes > 0 && 2 * back_bytes >= out_bytes; }
    // Batches of which the loss of each is read come as often; the tensors of one batch are no turns.
    bool is_often() const {
        return read >= kOften && sent >= kOften && waits >= kOften && waits > batches && waits <= 2 * read;
    }
};

// How often in a mean step a GPU waits for what looks like input.
double input_waits(const Situation& run) {
    std::map<int64_t, std::pair<double, double>> of_gpus;  // waits, steps
    for (const GpuInStep& gpu : run.basis().rows()) {
        int32_t pieces = 0;  // a wait has one of each cause: off the processor, then on it
        for (const IdlePart& part : gpu.idle)
            if (kInputCauses.has(part.cause)) pieces = std::max(pieces, part.pieces);
        of_gpus[gpu.gpu_id].first += pieces;
        of_gpus[gpu.gpu_id].second += 1;
    }
    double most = 0;
    for (const auto& [gpu_id, sum] : of_gpus) most = std::max(most, sum.first / sum.second);
    return most;
}

Exchange exchange_of(const Situation& run) {
    Query row = run.ask(
        "SELECT total(iif(kind = 'd2h', bytes, 0)), total(iif(kind = 'h2d', bytes, 0)),"
        " total(iif(kind = 'h2d', count, 0)) FROM copy_stat"
        " WHERE steps * 5 >= 4 * (SELECT max(whole_steps) FROM v_run_steps) GROUP BY gpu_id"
        " ORDER BY 1 DESC LIMIT 1");
    if (!run.has_steps() || !row.step()) return {};
    return {run.counted(row.real(0)), run.counted(row.real(1)),
            run.counted(row.real(2)), run.reads_each(),
            input_waits(run),         run.real("SELECT max(forwards) FROM v_phases_of_step").value_or(0)};
}

constexpr Heading kExchanged = {"host-bound", "Host work between copies back and forth",
                                "the GPU waits while the host works between what it reads back and what it "
                                "sends",
                                "that work on the GPU, or while the GPU computes"};

void say_exchange(const Situation& run, const Exchange& exchange, double idle_ns, Finding& found) {
    found.heading = &kExchanged;
    found.title = "the GPU waits " + duration_text(idle_ns) +
                  " of a step while the launching thread works on its CPU, between " +
                  bytes_text(exchange.back_bytes) + " that it reads back and " +
                  bytes_text(exchange.out_bytes) +
                  " that it sends: on what it has read (an optimizer, layers, a file), or on the next batch";
    found.try_it = run.advice({"input_bound.exchange"});
}

constexpr Heading kTurns = {"host-bound", "Turns between the host and the GPU",
                            "the GPU waits for the host's turn between what it reads back and what it sends",
                            "more work in each turn, or two groups by turns"};

void say_turns(const Situation& run, const Exchange& exchange, double idle_ns, bool waits, Finding& found) {
    found.heading = &kTurns;
    found.title = "the GPU waits " + duration_text(idle_ns) + " of a step while the launching thread " +
                  (waits ? "waits" : "works on its CPU") + " between what it reads back and what it sends, " +
                  count_text(to_int64(exchange.waits)) +
                  " times in a step: for simulators or players, or for its next batches";
    found.try_it = run.advice({"input_bound.turns"});
}

// What helps most, if one stage has at least half. Of waits what is said anyway: more loaders.
std::string advice_for_stage(const Situation& run, const std::vector<InputStage>& stages) {
    const bool is_clear = !stages.empty() && stages.front().share >= 0.5;
    if (!is_clear || stages.front().stage == LoadingStage::waits) return "";
    return run.advice({"input_bound." + std::string(name_of(stages.front().stage))}) + " ";
}

bool mostly_waits(const std::vector<InputStage>& stages) {
    return std::any_of(stages.begin(), stages.end(), [](const InputStage& one) {
        return one.stage == LoadingStage::waits && one.share >= 0.5;
    });
}

// Of what does not train, nothing tells a loader from requests that have not come.
bool may_serve(const Situation& run) { return !run.number("SELECT 1 FROM program WHERE kind = 'training'"); }

struct InputIdle {
    double cpu_ns, wait_ns;
    double told_ns;  // of which it is not known
    double sum_ns() const { return cpu_ns + wait_ns + told_ns; }
    bool is_mostly_told() const { return told_ns > cpu_ns + wait_ns; }
};

InputIdle input_idle(const Situation& run) {
    const auto idle_ns = [&](const char* cause) { return run.what_if().idle_ns({cause}); };
    return {idle_ns("input_cpu"), std::max(0.0, idle_ns("input_wait") - contended_ns(run, kInputCauses)),
            idle_ns("input_loading")};
}

// Most of it lies in a range of the program that was over before the batch was copied, and whose name tells
// no loading: it may be anything.
bool is_in_another_range(const Situation& run) {
    constexpr double kMostOfIt = 0.5;
    const auto range = run.range_of(kInputCauses);
    return range && range->over_share >= kMostOfIt;
}

constexpr Heading kBefore = {"host-bound", "Host work before the copy of a batch",
                             "the GPU waits while the host works before the copy of a batch",
                             "that work ahead of the step, less often, or in another thread"};

void say_before(const Situation& run, const InputIdle& idle, Finding& found) {
    found.heading = &kBefore;
    found.title = "the GPU waits " + duration_text(idle.sum_ns()) + " of a " + run.per() +
                  " before the copy of a batch, while the launching thread " +
                  (idle.cpu_ns >= idle.wait_ns ? "works on its CPU" : "waits");
    found.try_it = run.advice({"input_bound.before"});
}

// A wait after what is read, and then the next batch: nothing tells to which of the two the host's work
// belongs.
bool may_work_on_what_it_read(const Situation& run, const Exchange& exchange) {
    return run.reads_every_step() ||
           (exchange.out_bytes > 0 && 2 * exchange.back_bytes >= exchange.out_bytes);
}

void say_loading(const Situation& run, const InputIdle& idle, const Exchange& exchange, Finding& found) {
    const std::vector<InputStage> stages = run.input_stages();
    const bool waits = mostly_waits(stages), loads_itself = idle.cpu_ns >= idle.wait_ns && !waits;
    found.title =
        "the GPU waits " + duration_text(idle.sum_ns()) + " of a " + run.per() +
        (idle.is_mostly_told() && !waits ? " while the launching thread loads or makes a batch"
         : loads_itself
             ? std::string(" while the launching thread itself loads the batch on its CPU") +
                   (may_work_on_what_it_read(run, exchange) ? ", or works on what it has just read back" : "")
             : " while the launching thread waits for a batch from its loaders");
    found.try_it = run.advice({loads_itself ? "input_bound.loads_itself" : "input_bound"});
    if (!loads_itself && idle.wait_ns > idle.told_ns && may_serve(run)) {
        found.title += ", or for requests";
        found.try_it += " " + run.advice({"input_bound.requests"});
    }
    if (const std::string told = text_of(stages); !told.empty()) found.title += " (" + told + ")";
    found.try_it = advice_for_stage(run, stages) + found.try_it;
}

std::optional<Finding> look(const Situation& run) {
    const InputIdle idle = input_idle(run);
    if (idle.sum_ns() <= 0) return {};
    Finding found;
    const Exchange exchange = exchange_of(run);
    const double untold_ns = idle.cpu_ns + idle.wait_ns;
    if (!idle.is_mostly_told() && exchange.is_large())
        say_exchange(run, exchange, untold_ns, found);
    else if (!idle.is_mostly_told() && exchange.is_often())
        say_turns(run, exchange, untold_ns, idle.wait_ns > idle.cpu_ns, found);
    else if (!idle.is_mostly_told() && is_in_another_range(run))
        say_before(run, idle, found);
    else
        say_loading(run, idle, exchange, found);
    // A step that takes much longer for it than is usual does something else (step_gap).
    found.gain =
        run.what_if().shorter([&](const GpuInStep& gpu) { return without_idle(gpu, run.input_ns(gpu)); });
    found.gain = without_contention(run, kInputCauses, found.gain);
    found.confidence = 0.9;
    found.where = run.seen_in(kInputCauses);
    found.evidence = run.gaps_of(kInputCauses);
    return found;
}

constexpr Heading kHeading = {"input-bound", "Waiting for data", "the GPU waits for data",
                              "loading ahead, in more workers"};
const RuleRegistration kRegistration({"input_bound", Scope::kInput, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_input_bound
