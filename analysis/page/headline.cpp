#include "headline.h"

#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "../chart/page.h"
#include "../idle/cause.h"
#include "../report/facts.h"
#include "../report/step_figures.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "compared.h"
#include "figures.h"

namespace gpushim::analysis {

namespace {

constexpr double kGood = 0.8, kBad = 0.5;  // of a GPU's time, productive

Card step_card(const PageInput& input) {
    const Json& steps = input.of("steps");
    if (steps["median_ns"].is_null()) return {"Step", "not recorded", why_of(steps, "median_ns")};
    const Json& tokens = input.of("serving")["between_tokens"];
    if (!tokens["p50_ns"].is_null())
        return {"From token to token", duration_of(tokens["p50_ns"]),
                "95 of 100 come within " + duration_of(tokens["p95_ns"]) + "; " +
                    count_of_json(steps["count"]) + " iterations"};
    if (steps["count"].amount() == 1) return {"Step", duration_of(steps["median_ns"]), "the only one"};
    if (step_figures(input.source).host_ahead)
        return {"Step, mean", duration_of(steps["mean_ns"]),
                "the host is ahead of the GPU and calls for most of them in " +
                    duration_of(steps["median_ns"]) + "; " + count_of_json(steps["count"]) + " steps"};
    const std::string mean =
        step_figures(input.source).is_uneven() ? duration_of(steps["mean_ns"]) + " on average; " : "";
    return {"Step, median", duration_of(steps["median_ns"]),
            mean + "95 of 100 take at most " + duration_of(steps["p95_ns"]) + "; " +
                count_of_json(steps["count"]) + " steps"};
}

// No card for what nobody gave a key for: samples, operations, money.
using MaybeCard = std::optional<Card>;

MaybeCard samples_card(const PageInput& input) {
    const Json& steps = input.of("steps");
    const auto rate = steps["samples_per_s"].amount();
    const ReportSource& source = input.source;
    if (rate) return Card{"Samples per second", count_text(to_int64(*rate)), "all ranks together"};
    if (!source.options.samples_per_step && !source.number("samples_per_step")) return {};
    return Card{"Samples per second", "not recorded", why_of(steps, "samples_per_s")};
}

MaybeCard money_card(const PageInput& input) {
    const Json& cost = input.of("cost");
    const auto price = cost["price_per_gpu_hour"].amount(), lost = cost["lost_price_per_day"].amount();
    if (!price) return {};
    const std::string at = "at $" + figure_text("%.2f", *price) + " an hour of a GPU";
    if (!lost) return Card{"Lost a day", "not recorded", why_of(cost, "lost_price_per_day")};
    return Card{
        "Lost a day", "$" + figure_text("%.2f", *lost),
        at + "; of it idle $" +
            shown_by([](double money) { return figure_text("%.2f", money); }, cost["idle_price_per_day"])};
}

const Json* least_productive(const std::vector<Json>& gpus) {
    const Json* least = &gpus.front();
    for (const Json& gpu : gpus) {
        const auto share = gpu["productive_share"].amount();
        if (share && *share < (*least)["productive_share"].amount().value_or(2)) least = &gpu;
    }
    return least;
}

std::string share_or_not_known(const Json& share) {
    return share.amount() ? share_of_json(share) : "not known";
}

Card productive_card(const PageInput& input) {
    const std::vector<Json>& gpus = input.of("gpus").items();
    const std::string name = gpus.size() == 1 ? "Productive" : "Productive, worst GPU";
    if (gpus.empty()) return {name, "not recorded", "no GPU was used"};
    const Json& worst = *least_productive(gpus);
    const auto share = worst["productive_share"].amount();
    if (!share) return {name, "not recorded", why_of(worst, "productive_share")};
    return {name, percent_text(*share),
            GpuNames(input.source.run).of(worst) + "; waiting for peers " +
                share_or_not_known(worst["waiting_for_peer_share"]) + ", idle " +
                share_or_not_known(worst["idle_share"]),
            *share >= kGood  ? "good"
            : *share >= kBad ? "warn"
                             : "bad"};
}

Card idle_card(const PageInput& input) {
    const Json& cost = input.of("cost");
    const auto idle = cost["idle_gpu_ns"].amount(), all = cost["gpu_ns"].amount();
    if (!idle || !all || *all <= 0) return {"Idle", "not recorded", why_of(cost, "idle_gpu_ns")};
    std::map<std::string, double> by_cause;
    for (const Json& gpu : input.of("gpus").items()) {
        const Json& causes = gpu["idle_by_cause_ns"];
        for (const std::string& cause : causes.keys()) by_cause[cause] += causes[cause].amount().value_or(0);
    }
    std::string largest;
    for (const auto& [cause, ns] : by_cause)
        if (ns > 0 && (largest.empty() || ns > by_cause[largest])) largest = cause;
    return {input.of("gpus").items().size() == 1 ? "Idle" : "Idle, all GPUs", percent_text(*idle / *all),
            (largest.empty() ? "" : "largest cause: " + std::string(said_of(largest)) + "; ") +
                shown_by([](double hours) { return coordinate(std::round(hours * 10) / 10); },
                         cost["idle_gpu_hours_per_day"]) +
                " GPU-hours a day at this rate"};
}

bool communicates(const PageInput& input) { return !input.of("collectives").items().empty(); }

MaybeCard allreduce_card(const PageInput& input) {
    if (input.is_alone() || !reduces(input)) return {};
    const Json& check = input.of("allreduce_check");
    const auto measured = check["measured_ns"].amount();
    if (!measured) return Card{"AllReduce per step", "not recorded", why_of(check, "measured_ns")};
    const auto times = times_of(check["measured_ns"], check["expected_ns"]);
    if (times)
        return Card{
            "AllReduce per step", duration_text(*measured),
            "measured; expected " + duration_of(check["expected_ns"]) + " (" + times_text(*times) + ")"};
    Markup words = "expected: not known; ";
    words += element("span", {{"class", "option"}}, "--bandwidth 300GB/s");
    return Card{"AllReduce per step", duration_text(*measured), words};
}

MaybeCard straggler_card(const PageInput& input) {
    if (input.is_alone() || !communicates(input)) return {};
    const Json& skew = input.of("skew");
    const Json& straggler = skew["straggler"];
    if (straggler.is_null())
        return Card{"Straggler", compares_ranks(input) ? "none found" : "not known",
                    why_of(skew, "straggler")};
    const std::string cause = straggler["cause"].words();
    return Card{"Straggler", rank_of(straggler),
                saved_of(straggler) + " of a step; cause " + (cause.empty() ? "unattributed" : cause), "bad"};
}

// Of recorded products where nobody said what a sample takes.
MaybeCard flops_card(const PageInput& input) {
    const Json& flops = input.of("flops");
    const bool is_given = !flops["flops_per_sample"].is_null();
    const auto rate = flops[is_given ? "tflops_per_gpu" : "product_tflops_per_gpu"].amount();
    const auto share = flops[is_given ? "mfu" : "product_mfu"].amount();
    if (!rate && !is_given) return {};
    if (!rate) return Card{"MFU", "not recorded", why_of(flops, "tflops_per_gpu")};
    const std::string each = coordinate(std::round(*rate * 10) / 10), unit = "TFLOP/s per GPU",
                      at_least = is_given ? "" : ", at least",
                      of = is_given ? "" : "in recorded products of cuBLAS";
    // What is known comes first.
    if (!share)
        return Card{unit + at_least, each,
                    of + (of.empty() ? "" : "; ") +
                        "MFU not known: " + why_of(flops, is_given ? "mfu" : "product_mfu")};
    return Card{"MFU" + at_least, percent_text(*share),
                each + " " + unit + (of.empty() ? "" : " ") + of + ", " + flops["precision"].words()};
}

// Not out of the report, which may withhold what it says of GPUs.
bool is_simulated(const PageInput& input) {
    Query row = input.source.run.prepare("SELECT count(*) FROM gpu WHERE simulated <> 0");
    return row.step() && row.number(0) > 0;
}

// Parts of a line stand far apart.
std::string with_dots(std::string text) {
    for (size_t at = text.find("   "); at != std::string::npos; at = text.find("   ", at))
        text.replace(at, 3, " \u00b7 ");
    return text;
}

// Below the verdict, of its finding: on a telephone the list of what to do begins a screen further down.
Markup first_try(const PageInput& input) {
    for (const Json& finding : input.of("findings").items()) {
        const std::string advice = finding["try"].words();
        if (advice.empty() || finding["id"].words() != input.of("verdict")["finding"].words()) continue;
        Markup words = element("a", {{"href", "#findings"}}, "Try");
        words += ": " + advice.substr(0, advice.find(". ")) + (advice.find(". ") < advice.size() ? "." : "");
        return paragraph(words);
    }
    return {};
}

// Of the report's lines the verdict, what ran and when, and what could not be read.
Markup what_ran(const PageInput& input) {
    Markup all;
    for (const auto& block : input.report.blocks) {
        const Line* const line = std::get_if<Line>(&block);
        if (line == nullptr) continue;
        const std::string_view text = line->text;
        if (text.starts_with("VERDICT ")) {
            all += paragraph(std::string(text.substr(9)), "verdict");
            all += first_try(input);
        }
        // That it was simulated a banner says, once.
        if (text.starts_with("EVIDENCE "))
            for (const Json& wrong : input.of("verdict")["evidence"].items())
                all += paragraph("Evidence: " + wrong.words(), "soft");
        if (text.starts_with("ran ") || text.starts_with("when "))
            all += paragraph(with_dots(std::string(text.substr(8, text.find("   SIMULATED") - 8))), "soft");
        for (const char* word : {"MISSING ", "HUNG ", "WRONG "})
            if (text.starts_with(word)) all += banner(line->text);
    }
    return all;
}

std::string of_asked_steps(const PageInput& input) {
    const Json& steps = input.of("steps");
    return "Steps " + count_of_json(steps["first"]) + " to " + count_of_json(steps["last"]) +
           ": the verdict, the step, its phases, GPUs, idle time and what is served are of these; all else "
           "is of "
           "the whole run.";
}

}  // namespace

Markup headline(const PageInput& input) {
    Markup all = what_ran(input);
    if (is_simulated(input)) all += simulated_banner();
    if (input.source.is_part_of_run()) all += paragraph(of_asked_steps(input), "soft");
    std::vector<Card> there;
    for (MaybeCard& card : std::vector<MaybeCard>{step_card(input), samples_card(input), flops_card(input),
                                                  productive_card(input), idle_card(input), money_card(input),
                                                  allreduce_card(input), straggler_card(input)})
        if (card) there.push_back(std::move(*card));
    all += cards(there);
    return all;
}

}  // namespace gpushim::analysis
