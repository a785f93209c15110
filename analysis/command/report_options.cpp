#include "report_options.h"

#include <charconv>
#include <cmath>
#include <span>

#include "../failure.h"

namespace gpushim::analysis {

namespace {

struct Suffix {
    std::string_view text;
    double factor;
};

constexpr Suffix kCounts[] = {{"", 1},    {"k", 1e3}, {"K", 1e3}, {"M", 1e6},
                              {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};
// Decimal, as everywhere in bandwidths; a small b is bits.
constexpr Suffix kBandwidths[] = {{"B", 1},          {"kB", 1e3},     {"MB", 1e6},
                                  {"GB", 1e9},       {"TB", 1e12},    {"Gb", 0.125e9},
                                  {"Gbit", 0.125e9}, {"GiB", 0x1p30}, {"MiB", 0x1p20}};

// A number and one of the suffixes; none: it is not that, or not above 0.
std::optional<double> scaled(std::string_view text, std::span<const Suffix> suffixes) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || !std::isfinite(value) || value <= 0) return {};
    const std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
    for (const Suffix& suffix : suffixes)
        if (suffix.text == rest) return value * suffix.factor;
    return {};
}

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view how) {
    throw Failure("--" + std::string(option) + " " + std::string(text) + ": not understood; write " +
                  std::string(how));
}

int64_t step_from(const char* option, std::string_view text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0)
        refuse(option, text, "the number of a step");
    return number;
}

std::optional<int64_t> step_asked(const Arguments& arguments, const char* option) {
    const auto text = arguments.value(option);
    if (!text) return {};
    return step_from(option, *text);
}

void read_iterations(const std::string& text, ReportOptions& options) {
    constexpr const char* kName = "iterations";
    const size_t colon = text.find(':');
    if (colon == std::string::npos || text.size() == 1) refuse(kName, text, "two steps, as in 20:40");
    if (options.from_step || options.to_step) throw Failure("--iterations, or --from and --to, not both");
    if (colon > 0) options.from_step = step_from(kName, text.substr(0, colon));
    if (colon + 1 < text.size()) options.to_step = step_from(kName, text.substr(colon + 1));
}

}  // namespace

int64_t count_from(std::string_view option, std::string_view text) {
    const auto count = scaled(text, kCounts);
    if (!count || *count >= 0x1p62 || *count != std::floor(*count)) refuse(option, text, "11689512 or 1.5M");
    return static_cast<int64_t>(*count);
}

double bandwidth_from(std::string_view option, std::string_view text) {
    const std::string_view amount = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
    if (scaled(amount, std::span(kCounts, 1)))
        refuse(option, text,
               "its unit, too: " + std::string(amount) + "GB/s or " + std::string(amount) + "Gbit/s");
    const auto bandwidth = scaled(amount, kBandwidths);
    if (!bandwidth) refuse(option, text, "300GB/s");
    return *bandwidth;
}

double price_from(std::string_view option, std::string_view text) {
    const auto price = scaled(text, std::span(kCounts, 1));
    if (!price) refuse(option, text, "what an hour of one GPU costs, as in 2.50");
    return *price;
}

void require_steps(const ReportSource& source) {
    if (!source.is_part_of_run()) return;
    Query asked =
        source.of_steps("SELECT EXISTS (SELECT 1 FROM v_counted_step WHERE number BETWEEN ?1 AND ?2)");
    if (asked.step() && asked.number(0) != 0) return;
    std::string text;
    if (source.options.from_step) text += " --from " + std::to_string(*source.options.from_step);
    if (source.options.to_step) text += " --to " + std::to_string(*source.options.to_step);
    Query there = source.run.prepare("SELECT min(number), max(number) FROM v_counted_step");
    if (!there.step() || there.is_null(0))
        throw Failure(text.substr(1) + ": this run has no steps that count");
    throw Failure(text.substr(1) + ": no step is there; the steps that count are " +
                  std::to_string(there.number(0)) + " to " + std::to_string(there.number(1)));
}

ReportOptions report_options(const Arguments& arguments) {
    ReportOptions options;
    if (const auto text = arguments.value("params")) options.params = count_from("params", *text);
    if (const auto text = arguments.value("samples-per-step"))
        options.samples_per_step = count_from("samples-per-step", *text);
    if (const auto text = arguments.value("tokens-per-sample"))
        options.tokens_per_sample = count_from("tokens-per-sample", *text);
    if (const auto text = arguments.value("flops-per-sample"))
        options.flops_per_sample = count_from("flops-per-sample", *text);
    if (options.tokens_per_sample && options.flops_per_sample)
        throw Failure("--flops-per-sample or --tokens-per-sample (with --params), not both");
    if (const auto text = arguments.value("bandwidth"))
        options.bandwidth_bytes_per_s = bandwidth_from("bandwidth", *text);
    if (const auto text = arguments.value("bandwidth-between"))
        options.between_bytes_per_s = bandwidth_from("bandwidth-between", *text);
    if (const auto text = arguments.value("price")) options.price_per_gpu_hour = price_from("price", *text);
    options.from_step = step_asked(arguments, "from");
    options.to_step = step_asked(arguments, "to");
    if (const auto text = arguments.value("iterations")) read_iterations(*text, options);
    if (options.from_step && options.to_step && *options.from_step > *options.to_step)
        throw Failure("the first step is after the last: no step lies between them");
    options.redact = arguments.has("redact");
    options.all = arguments.has("all");
    return options;
}

void read_program(const Arguments& arguments, RunOptions& options) {
    options.step_marker = arguments.value("step-marker").value_or("");
    const bool serves = arguments.has("serving"), trains = arguments.has("training");
    if (serves && trains) throw Failure("--serving or --training, not both");
    if (serves || trains) options.program = serves ? Program::serving : Program::training;
}

RunOptions run_options(const Arguments& arguments) {
    const ReportOptions asked = report_options(arguments);
    RunOptions options;
    options.params = asked.params;
    options.samples_per_step = asked.samples_per_step;
    options.tokens_per_sample = asked.tokens_per_sample;
    options.flops_per_sample = asked.flops_per_sample;
    options.bandwidth_bytes_per_s = asked.bandwidth_bytes_per_s;
    options.between_bytes_per_s = asked.between_bytes_per_s;
    options.price_per_gpu_hour = asked.price_per_gpu_hour;
    read_program(arguments, options);
    return options;
}

}  // namespace gpushim::analysis
