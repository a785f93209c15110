#include "figures.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "../chart/page.h"
#include "../report/facts.h"
#include "../report/trust_figures.h"
#include "../skew/saved.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

// "one, two" of "one, two: this"; empty: the part goes on with what the one before it says.
std::string_view keys_in(std::string_view part, const std::vector<std::string>& known) {
    const std::string_view keys = part.substr(0, part.find(": "));
    if (keys.size() == part.size()) return {};
    for (size_t at = 0; at < keys.size();) {
        const size_t end = std::min(keys.find(", ", at), keys.size());
        if (std::find(known.begin(), known.end(), keys.substr(at, end - at)) == known.end()) return {};
        at = end + 2;
    }
    return keys;
}

bool has_word(std::string_view list, std::string_view word) {
    for (size_t at = 0; (at = list.find(word, at)) != std::string_view::npos; ++at) {
        const bool begins = at == 0 || list[at - 1] == ' ';
        const size_t end = at + word.size();
        if (begins && (end == list.size() || list[end] == ',')) return true;
    }
    return false;
}

}  // namespace

std::string why_of(const Json& object, std::string_view key) {
    const std::string why = object["why"].words();
    if (why.empty()) return "the run does not have it";
    const std::vector<std::string> known = object.keys();
    std::string found;
    bool is_of_key = false;
    for (size_t at = 0; at < why.size();) {
        const size_t end = std::min(why.find("; ", at), why.size());
        const std::string_view part = std::string_view(why).substr(at, end - at);
        const std::string_view keys = keys_in(part, known);
        if (!keys.empty()) is_of_key = has_word(keys, key);
        if (is_of_key)
            found += std::string(found.empty() ? "" : "; ") +
                     std::string(keys.empty() ? part : part.substr(keys.size() + 2));
        at = end + 2;
    }
    return found.empty() ? why : found;
}

std::string shown_by(std::string (*text)(double), const Json& amount) {
    const auto value = amount.amount();
    return value ? text(*value) : kNotThere;
}

TableCell cell_by(std::string (*text)(double), const std::optional<double>& amount) {
    if (!amount) return {kNotThere};
    return {text(*amount), *amount};
}

TableCell cell_by(std::string (*text)(double), const Json& amount) { return cell_by(text, amount.amount()); }

std::string duration_of(const Json& ns) { return shown_by(duration_text, ns); }
std::string saved_of(const Json& straggler) {
    const auto saved = straggler["time_saved_per_step_ns"].amount();
    const auto least = straggler["least_saved_per_step_ns"].amount();
    const double most = straggler["most_saved_per_step_ns"].amount().value_or(saved.value_or(0));
    if (!saved) return kNotThere;
    const auto least_ns = least ? std::optional(to_int64(*least)) : std::nullopt;
    return SavedPerStep{to_int64(*saved), least_ns, to_int64(most)}.text();
}
std::string share_of_json(const Json& share) { return shown_by(percent_text, share); }
std::string count_axis(double count) { return count_text(to_int64(count)); }
std::string count_of_json(const Json& count) { return shown_by(count_axis, count); }

std::optional<double> times_of(const Json& amount, const Json& other) {
    const auto part = amount.amount();
    return part ? share_of(*part, other.amount().value_or(0)) : std::nullopt;
}

std::string times_text(double times) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2fx", times);
    return text;
}

std::string share_axis(double share) {
    const std::string text = percent_text(share);
    const size_t dot = text.find(".0 ");
    return dot == std::string::npos ? text : text.substr(0, dot) + text.substr(dot + 2);
}

Markup of_steps(const std::optional<AllSteps>& steps) {
    const std::string of = steps ? steps->differing_text() : "";
    if (of.empty()) return {};
    return paragraph("A step: " + of + "; step times and what GPUs did are of the " +
                         count_text(steps->counted) + " that count.",
                     "rest");
}

bool is_imported(const Report& report) {
    const std::string level = report.json["trust"]["level"].words();
    return source_of_times(level) != level;
}

std::string rank_of(const Json& object) {
    const auto rank = object["rank"].amount();
    return rank ? "rank " + std::to_string(to_int64(*rank)) : "a process";
}

std::string GpuNames::of(const Json& object) const {
    const auto found = labels_.find(to_int64(object["gpu_id"].amount().value_or(-1)));
    return found == labels_.end() ? rank_of(object) : found->second.text;
}

}  // namespace gpushim::analysis
