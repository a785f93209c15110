#include "top_columns.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "../text/escape.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace {

constexpr const char* kNotKnown = "-";

std::string rounded_text(const std::optional<double>& value, const char* format) {
    if (!value) return kNotKnown;
    char text[32];
    std::snprintf(text, sizeof text, format, *value);
    return text;
}

const GpuParts* parts_in(const TopRow& row) {
    return row.gpu != nullptr && row.gpu->parts ? &*row.gpu->parts : nullptr;
}

std::optional<double> share_in(const TopRow& row, int64_t (*part)(const GpuParts&)) {
    const GpuParts* const parts = parts_in(row);
    return parts != nullptr ? std::optional(parts->share(part(*parts))) : std::nullopt;
}

template <CauseGroup kGroup>
std::string idle_text(const TopRow& row) {
    return share_text(share_in(row, [](const GpuParts& parts) { return parts.idle.of(kGroup); }));
}

std::string step_text(const TopRow& row) {
    const auto& step_ns = row.rank->pace.median_ns;
    if (!step_ns) return kNotKnown;
    return (row.rank->pace.is_marked ? "" : "~") + duration_text(static_cast<double>(*step_ns));
}
std::string step_change(const TopRow& row) { return change_text(row.rank->pace.change); }
std::string compute_text(const TopRow& row) {
    return share_text(share_in(row, [](const GpuParts& parts) { return parts.productive_ns; }));
}
std::string transfer_text(const TopRow& row) {
    return share_text(share_in(row, [](const GpuParts& parts) { return parts.transfer_ns; }));
}
std::optional<double> wait_in(const TopRow& row) {
    const GpuParts* const parts = parts_in(row);
    if (parts == nullptr || !parts->is_wait_known) return {};
    return parts->share(parts->peer_wait_ns);
}
std::string wait_text(const TopRow& row) { return share_text(wait_in(row)); }
std::string copy_text(const TopRow& row) {
    return share_text(share_in(row, [](const GpuParts& parts) { return parts.copy_ns; }));
}
std::optional<double> idle_in(const TopRow& row) {
    return share_in(row, [](const GpuParts& parts) { return parts.idle.total(); });
}
std::string all_idle_text(const TopRow& row) { return share_text(idle_in(row)); }
std::string cause_text(const TopRow& row) {
    const GpuParts* const parts = parts_in(row);
    if (parts == nullptr) return kNotKnown;
    const auto cause = main_cause(*parts);
    return cause ? name_of(*cause) : "none";
}
std::string own_text(const TopRow& row) { return share_text(row.rank->own_share); }
std::string writer_text(const TopRow& row) { return share_text(row.rank->writer_share); }
std::string dropped_text(const TopRow& row) { return count_text(row.rank->dropped); }
std::string memory_used_text(const TopRow& row) {
    const bool is_known = row.gpu != nullptr && row.gpu->memory_used_bytes;
    return is_known ? memory_text(*row.gpu->memory_used_bytes) : kNotKnown;
}
std::string memory_share_text(const TopRow& row) {
    if (row.gpu == nullptr || !row.gpu->memory_used_bytes || row.gpu->memory_total_bytes.value_or(0) <= 0)
        return kNotKnown;
    return share_text(*row.gpu->memory_used_bytes / *row.gpu->memory_total_bytes);
}
std::optional<double> watts(const std::optional<double>& milliwatts) {
    return milliwatts ? std::optional(*milliwatts / 1000) : std::nullopt;
}
std::string power_text(const TopRow& row) {
    return row.gpu != nullptr ? rounded_text(watts(row.gpu->power_mw), "%.0f W") : kNotKnown;
}
std::string limit_text(const TopRow& row) {
    return row.gpu != nullptr ? rounded_text(watts(row.gpu->power_limit_mw), "%.0f W") : kNotKnown;
}
std::string heat_text(const TopRow& row) {
    return row.gpu != nullptr ? rounded_text(row.gpu->temperature_c, "%.0f C") : kNotKnown;
}
std::string clock_text(const TopRow& row) {
    return row.gpu != nullptr ? rounded_text(row.gpu->sm_mhz, "%.0f") : kNotKnown;
}
std::string state_in(const TopRow& row) { return state_text(*row.rank); }

constexpr TopColumn kParts[] = {
    {"RANK", 5, false, 0, label_of},
    {"STEP", 10, false, 0, step_text},
    {"CHANGE", 7, false, 0, step_change},
    {"COMP", 6, false, 0, compute_text},
    {"COMM", 6, false, 0, transfer_text},
    {"WAIT", 6, false, 0, wait_text},
    {"COPY", 6, false, 0, copy_text},
    {"IDLE", 6, false, 0, all_idle_text},
    {"MOSTLY", 14, true, 0, cause_text},
    {"OWN", 6, false, 110, own_text},
    {"MEMORY", 10, false, 110, memory_used_text},
    {"POWER", 8, false, 110, power_text},
    {"STATE", 14, true, 0, state_in},
};
constexpr TopColumn kIdle[] = {
    {"RANK", 5, false, 0, label_of},
    {"IDLE", 6, false, 0, all_idle_text},
    {"INPUT", 7, false, 0, idle_text<CauseGroup::input>},
    {"COPY", 7, false, 0, idle_text<CauseGroup::copy>},
    {"LAUNCH", 7, false, 0, idle_text<CauseGroup::launch>},
    {"SYNC", 7, false, 0, idle_text<CauseGroup::sync>},
    {"WAIT", 7, false, 0, idle_text<CauseGroup::wait>},
    {"HOST", 7, false, 0, idle_text<CauseGroup::host>},
    {"OTHER", 7, false, 0, idle_text<CauseGroup::other>},
    {"MOSTLY", 20, true, 0, cause_text},
    {"STATE", 14, true, 95, state_in},
};
constexpr TopColumn kDevice[] = {
    {"RANK", 5, false, 0, label_of},          {"MEMORY", 10, false, 0, memory_used_text},
    {"USED", 6, false, 0, memory_share_text}, {"POWER", 7, false, 0, power_text},
    {"LIMIT", 7, false, 0, limit_text},       {"HEAT", 6, false, 0, heat_text},
    {"MHZ", 6, false, 0, clock_text},         {"OWN", 6, false, 0, own_text},
    {"WRITER", 7, false, 0, writer_text},     {"DROPPED", 8, false, 0, dropped_text},
    {"STATE", 12, true, 0, state_in},
};

}  // namespace

std::span<const TopColumn> columns_of(TopView view) {
    if (view == TopView::idle) return kIdle;
    if (view == TopView::device) return kDevice;
    return kParts;
}

double order_of(TopOrder order, const TopRow& row) {
    constexpr double kUnknown = -std::numeric_limits<double>::infinity();
    const auto of = [](const auto& value) { return value ? static_cast<double>(*value) : kUnknown; };
    switch (order) {
        case TopOrder::step:
            return of(row.rank->pace.median_ns);
        case TopOrder::compute:
            return of(share_in(row, [](const GpuParts& parts) { return parts.productive_ns; }));
        case TopOrder::waiting:
            return of(wait_in(row));
        case TopOrder::idle:
            return of(idle_in(row));
        case TopOrder::own:
            return of(row.rank->own_share);
        case TopOrder::memory:
            return row.gpu != nullptr ? of(row.gpu->memory_used_bytes) : kUnknown;
        case TopOrder::power:
            return row.gpu != nullptr ? of(row.gpu->power_mw) : kUnknown;
        case TopOrder::news:
            return of(row.rank->call_age_ns);
        default:
            return 0;
    }
}

std::string label_of(const TopRow& row) {
    const std::string label = for_terminal(row.rank->label);
    return row.rank->gpus.size() > 1 ? label + "." + std::to_string(row.number) : label;
}

std::string age_text(int64_t ns) {
    const int64_t seconds = ns / 1'000'000'000;
    if (seconds < 100) return std::to_string(seconds) + " s";
    if (seconds < 6000) return std::to_string(seconds / 60) + " min";
    return std::to_string(seconds / 3600) + " h";
}

std::string state_text(const RankNow& rank) {
    std::string text = name_of(rank.state);
    if (rank.state == RankState::quiet && rank.call_age_ns) text += " " + age_text(*rank.call_age_ns);
    if (rank.state == RankState::silent && rank.news_age_ns) text += " " + age_text(*rank.news_age_ns);
    if (!rank.open_call.empty()) text += " in " + for_terminal(rank.open_call);
    if (!rank.why.empty()) text += ": " + for_terminal(rank.why);
    return text;
}

std::string short_mark(const TopRow& row) {
    static constexpr const char* kStates[] = {"", "quiet", "silen", "ended", "died", "none"};
    static constexpr const char* kGroups[] = {"input", "copy", "lnch", "sync", "wait", "host", "other"};
    if (row.rank->state != RankState::running) return kStates[static_cast<size_t>(row.rank->state)];
    const GpuParts* const parts = parts_in(row);
    const auto cause = parts != nullptr ? main_cause(*parts) : std::nullopt;
    return cause ? kGroups[static_cast<size_t>(group_of(*cause))] : kNotKnown;
}

Style style_of(const RankNow& rank) {
    if (rank.state == RankState::silent || rank.state == RankState::died) return Style::trouble;
    if (rank.state == RankState::quiet || rank.state == RankState::unreadable) return Style::warning;
    return Style::plain;
}

std::string share_text(const std::optional<double>& share) {
    return rounded_text(share ? std::optional(100 * *share) : std::nullopt, "%.1f");
}

std::string change_text(const std::optional<double>& change) {
    return rounded_text(change ? std::optional(100 * *change) : std::nullopt, "%+.0f %%");
}

std::string short_duration(const std::optional<int64_t>& ns) {
    if (!ns) return kNotKnown;
    std::string text = duration_text(static_cast<double>(*ns));
    std::erase(text, ' ');
    return text;
}

}  // namespace gpushim::analysis
