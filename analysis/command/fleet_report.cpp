#include "fleet_report.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "../chart/heat_map.h"
#include "../chart/page.h"
#include "../chart/table.h"
#include "../exporter/text_file.h"
#include "../failure.h"
#include "../report/facts.h"
#include "../sqlite/database.h"
#include "../sqlite/plain_tables.h"
#include "../text/escape.h"
#include "../text/json.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kFleetApplication = 0x67707366;  // "gpsf"
constexpr int kFleetSchema = 3;
constexpr int kShown = 10;  // rows of a list
constexpr size_t kMostHosts = 128, kMostDays = 62;

Database opened(const fs::path& folder) {
    const fs::path place = folder / "fleet.db";
    if (!fs::exists(place))
        throw Failure(place.string() + ": not there; `scripts/fleet/read -o " + folder.string() +
                      " TRACES…` makes it");
    Database base(place);
    Query kind =
        base.prepare("SELECT application_id, user_version FROM pragma_application_id, pragma_user_version");
    if (!kind.step() || kind.number(0) != kFleetApplication)
        throw Failure(place.string() + ": not the answers about a fleet");
    if (kind.number(1) != kFleetSchema)
        throw Failure(place.string() + ": of another version; run `scripts/fleet/read` of this one again");
    require_plain_tables(base);
    return base;
}

Json as_json(const Value& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return nullptr;
}

// Every answer under its name, its rows as objects.
Json all_answers(const Database& base) {
    Json all = Json::object({{"schema", kFleetSchema}});
    Query names = base.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
    while (names.step()) {
        Json rows = Json::array();
        Query row = base.prepare("SELECT * FROM \"" + names.text(0) + "\" ORDER BY rowid");
        while (row.step()) {
            Json one = Json::object();
            for (int i = 0; i < row.columns(); ++i) one.set(row.column_name(i), as_json(row.value(i)));
            rows.push(one);
        }
        all.set(names.text(0), rows);
    }
    return all;
}

std::string shown(const Query& row, int column, const char* format, double factor = 1) {
    if (row.is_null(column)) return "not known";
    char text[64];
    std::snprintf(text, sizeof text, format, factor * row.real(column));
    return text;
}

// Of what has three digits or more, in whole ones.
std::string amount(const Query& row, int column) {
    constexpr double kWhole = 100;
    return row.is_null(column)         ? "not known"
           : row.real(column) < kWhole ? shown(row, column, "%.3g")
                                       : count_text(std::llround(row.real(column)));
}

// In two columns: how many ranks were seen, and of how many.
std::string seen_text(const Query& row, int column) {
    return count_text(row.number(column)) +
           (row.is_null(column + 1) ? "" : " of " + count_text(row.number(column + 1)));
}

struct List {
    const char* word;
    std::string title;
    std::vector<std::string> headings;
    std::string alignment;
    std::vector<std::vector<std::string>> rows;
    std::string rest = "";
};

List whole(const Database& base) {
    Query runs = base.prepare(
        "SELECT count(*), sum(ranks_seen), sum(coalesce(ranks_expected, ranks_seen)), (SELECT sum(most) FROM "
        "("
        "SELECT max(gpus) AS most FROM hosts_by_day GROUP BY host)), min(day), max(day),"
        " sum(ranks_expected IS NULL), (SELECT sum(gpu_hours) FROM hosts_by_day) FROM runs");
    runs.step();
    std::vector<std::string> row = {
        count_text(runs.number(0)), count_text(runs.number(1)) + " of " + count_text(runs.number(2)),
        count_text(runs.number(3)), amount(runs, 7), runs.text(4) + " to " + runs.text(5)};
    const std::string rest =
        runs.number(6) > 0 ? count_text(runs.number(6)) + " runs do not say how many ranks they have" : "";
    return {"FLEET", "what was seen", {"runs", "ranks seen", "GPUs", "GPU-hours", "days"},
            "rrrrl", {row},           rest};
}

List coverage(const Database& base) {
    List list = {
        "TRUST", "what was not seen, and what is odd", {"state", "rows", "ranks", "example"}, "lrrl", {}};
    Query state = base.prepare(
        // The example is that of the first day: SQLite takes it from the row that has the minimum.
        "SELECT state, sum(row_count), sum(ranks), example_of, example, sum(unknown_ranks), min(day)"
        " FROM coverage_by_day WHERE state <> 'seen' GROUP BY state ORDER BY 2 DESC, 1");
    while (state.step())
        list.rows.push_back({state.text(0), count_text(state.number(1)),
                             state.is_null(2)
                                 ? "not known"
                                 : count_text(state.number(2)) + (state.number(5) > 0 ? " or more" : ""),
                             state.text(3) + (state.is_null(4) ? "" : ": " + state.text(4))});
    if (list.rows.empty()) list.rest = "every rank of every run was read";
    return list;
}

List idle(const Database& base) {
    List list = {"IDLE", "GPU-hours by cause", {"cause", "GPU-hours", "of all", "money"}, "lrrr", {}};
    Query cause = base.prepare(
        "SELECT cause || CASE is_idle WHEN 0 THEN ' (busy)' ELSE '' END, gpu_hours, share, money"
        " FROM idle_by_cause ORDER BY rowid");
    while (cause.step())
        list.rows.push_back({cause.text(0), amount(cause, 1), shown(cause, 2, "%.2f %%", 100),
                             cause.is_null(3) ? "a run has no price" : amount(cause, 3)});
    list.rest = "as far as timed steps stand for the whole of each run";
    return list;
}

List worst(const Database& base) {
    List list = {"WORST",
                 "GPUs whose own time of a step is 3 % above the run's median, again and again",
                 {"host", "GPU", "slow in", "mean excess", "since", "until"},
                 "llrrll",
                 {}};
    Query gpu = base.prepare(
        "SELECT host, uuid, slow_runs, runs, mean_excess, slow_since, slow_until FROM worst_gpus ORDER BY "
        "rowid");
    while (gpu.step())
        if (list.rows.size() < kShown)
            list.rows.push_back({gpu.text(0), gpu.text(1),
                                 count_text(gpu.number(2)) + " of " + count_text(gpu.number(3)) + " runs",
                                 shown(gpu, 4, "%.1f %%", 100), gpu.text(5), gpu.text(6)});
        else
            list.rest = "fleet.db has more (worst_gpus)";
    Query compared = base.prepare("SELECT compared, gpus FROM compared_gpus");
    if (compared.step())
        list.rest = (list.rows.empty() ? "none; " : "") + count_text(compared.number(0)) + " of " +
                    count_text(compared.number(1)) +
                    " GPUs of runs could be compared: with timed steps, among four or more alike" +
                    (list.rest.empty() ? "" : "; " + list.rest);
    return list;
}

List since(const Database& base) {
    List list = {"SINCE",
                 "models whose steps changed by 5 % or more, and at which run (UTC)",
                 {"model", "machine", "since", "run", "before", "after", "ratio", "ranks seen"},
                 "llllrrrr",
                 {}};
    Query change = base.prepare(
        "SELECT model, machine, ranks,"
        " since || strftime(' %H:%M', since_started_ns / 1000000000, 'unixepoch'), since_run, before_ns,"
        " after_ns, ratio, ranks_seen, ranks_expected FROM since_when ORDER BY rowid");
    while (change.step())
        if (list.rows.size() < kShown)
            list.rows.push_back({change.text(0), count_text(change.number(2)) + " ranks, " + change.text(1),
                                 change.text(3), change.text(4), duration_text(change.real(5)),
                                 duration_text(change.real(6)), shown(change, 7, "%.2f"),
                                 seen_text(change, 8)});
        else
            list.rest = "fleet.db has more (since_when)";
    if (list.rows.empty()) list.rest = "none; four runs or more of a model are compared";
    return list;
}

List trend(const Database& base) {
    List list = {"TREND",
                 "by model, machine and day, the last days",
                 {"model", "machine", "day", "runs", "ranks", "step", "busy"},
                 "lllrrrr",
                 {}};
    int64_t unknown = 0;
    bool is_cut = false;
    Query day = base.prepare(
        "SELECT model, machine, day, runs, ranks_seen, ranks_expected, step_ns, busy_share, unknown_gpus"
        " FROM trend ORDER BY day DESC, model, machine, ranks");
    while (day.step()) {
        is_cut = list.rows.size() == kShown;
        if (is_cut) break;
        unknown += day.number(8);
        list.rows.push_back({day.text(0), day.text(1), day.text(2), count_text(day.number(3)),
                             seen_text(day, 4), day.is_null(6) ? "not known" : duration_text(day.real(6)),
                             shown(day, 7, "%.1f %%", 100)});
    }
    if (unknown > 0) list.rest = "busy without GPUs of which nothing is known: " + count_text(unknown);
    if (is_cut) list.rest += std::string(list.rest.empty() ? "" : "; ") + "fleet.db has more (trend)";
    return list;
}

void print(const List& list) {
    std::printf("%-6s %s\n", list.word, list.title.c_str());
    std::vector<size_t> widths(list.headings.size());
    for (size_t i = 0; i < widths.size(); ++i) {
        widths[i] = list.headings[i].size();
        for (const auto& row : list.rows) widths[i] = std::max(widths[i], for_terminal(row[i]).size());
    }
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string text = "      ";
        for (size_t i = 0; i < cells.size(); ++i) {
            const std::string cell = for_terminal(cells[i]);
            const std::string room(widths[i] - std::min(widths[i], cell.size()), ' ');
            text += " " + (list.alignment[i] == 'r' ? room + cell : cell + room) + " ";
        }
        text.erase(text.find_last_not_of(' ') + 1);
        std::puts(text.c_str());
    };
    if (!list.rows.empty()) line(list.headings);
    for (const auto& row : list.rows) line(row);
    if (!list.rest.empty()) std::printf("       %s\n", list.rest.c_str());
    std::puts("");
}

std::string text_of(size_t count) { return count_text(static_cast<int64_t>(count)); }

// Hosts over days, those with the most idle hours first; rest: what of them is not drawn.
HeatMap hosts_map(const Database& base, std::string& rest) {
    std::map<std::string, std::map<std::string, double>> hosts;
    std::map<std::string, double> idle_hours;
    std::set<std::string> all_days;
    Query cell = base.prepare("SELECT host, day, idle_share, gpu_hours FROM hosts_by_day");
    while (cell.step()) {
        all_days.insert(cell.text(1));
        idle_hours[cell.text(0)] += cell.real(2) * cell.real(3);
        if (!cell.is_null(2)) hosts[cell.text(0)][cell.text(1)] = cell.real(2);
    }
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [host, hours] : idle_hours) order.emplace_back(-hours, host);
    std::sort(order.begin(), order.end());
    const size_t hosts_there = order.size(), days_there = all_days.size();
    order.resize(std::min(order.size(), kMostHosts));
    std::vector<std::string> days(all_days.begin(), all_days.end());
    if (days.size() > kMostDays) days.erase(days.begin(), days.end() - kMostDays);
    if (order.size() < hosts_there || days.size() < days_there)
        rest = text_of(order.size()) + " of " + text_of(hosts_there) + " hosts and the last " +
               text_of(days.size()) + " of " + text_of(days_there) +
               " days are drawn; fleet.db has all (hosts_by_day)";
    HeatMap map = {{"hosts", "Idle share by host and day",
                    "A row is a host, those with the most idle hours first; a column is a day."},
                   "day",
                   days,
                   {},
                   [](double share) { return percent_text(share); }};
    for (const auto& [hours, host] : order) {
        HeatMap::Row row = {host, host, {}};
        for (const std::string& day : days) {
            const auto found = hosts[host].find(day);
            row.values.push_back(found == hosts[host].end() ? kUnknown : found->second);
        }
        map.rows.push_back(row);
    }
    return map;
}

Markup drawn(const List& list) {
    PageTable page = {list.title, list.alignment, list.headings, {}, list.rest};
    for (const auto& row : list.rows) page.rows.emplace_back(row.begin(), row.end());
    return list.rows.empty() ? paragraph(list.rest) : table(page);
}

std::string as_heading(std::string title) {
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    return title;
}

void write_page(const std::string& place, const Database& base, const std::vector<List>& lists) {
    Page page = {"gpushim: a fleet", {}, {}};
    for (const List& list : lists) page.sections.push_back({list.word, as_heading(list.title), drawn(list)});
    std::string rest;
    Markup map = heat_map(hosts_map(base, rest));
    if (!rest.empty()) map += paragraph(rest);
    page.sections.push_back({"hosts-by-day", "Hosts and days", map});
    TextFile file(place);
    file.write(page_text(page));
    file.finish();
}

bool is_whole(const Database& base) {
    Query odd = base.prepare(
        "SELECT 1 FROM coverage_by_day WHERE state NOT IN ('seen', 'shared_gpu', 'same_run_id', 'warned',"
        " 'duplicate', 'mixed_versions', 'not_ended') LIMIT 1");
    return !odd.step();
}

}  // namespace

int report_fleet(const fs::path& folder, bool in_json, const std::optional<std::string>& page) {
    const Database base = opened(folder);
    const std::vector<List> lists = {whole(base), coverage(base), idle(base),
                                     worst(base), since(base),    trend(base)};
    if (in_json)
        std::printf("%s\n", all_answers(base).text().c_str());
    else
        for (const List& list : lists) print(list);
    if (page) write_page(*page, base, lists);
    return is_whole(base) ? kFine : kIncomplete;
}

}  // namespace gpushim::analysis
