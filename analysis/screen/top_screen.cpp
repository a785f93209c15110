#include "top_screen.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "../text/escape.h"
#include "../text/units.h"
#include "../text/width.h"
#include "top_columns.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLinesAbove = 4, kLinesBelow = 1;
constexpr size_t kCellBehindLabel = 17;  // of the grid: step, compute, mark
constexpr const char* kNoGpu = "SIMULATED: these are not GPU times";
constexpr const char* kKeys = "q quit  v view  s sort  r reverse  f filter  p pause  ? help";

constexpr const char* kHelp[] = {
    "Keys",
    "  q quit   v Tab 1-4 views   s sort by   r reverse   f / filter   p pause",
    "  arrows, page keys, j, k scroll   Esc forget the filter   any key: back",
    "Columns",
    "  STEP    median of the steps that ended in the last 10 s; ~ found by what",
    "          repeats in the newest window, because none are marked",
    "  CHANGE  against the 50 s before; in the bars a full one is twice the median",
    "  COMP COMM WAIT COPY IDLE   shares of a GPU's time, in %, that add up to 100:",
    "          compute; else a collective moves data; else it waits for other ranks;",
    "          else copies and memsets; else idle. Where WAIT is -, COMM has it in it",
    "  MOSTLY  the cause of most idle time: `gpushim help CAUSE` explains it",
    "  OWN     what gpushim takes of the thread that pays most, in %;",
    "  WRITER  what its writer takes of a core",
    "These are samples: GPU shares are of at most 2 s of the newest",
    "window in which operations were timed; there is about one in 10 s, and so",
    "many seconds old they are. `gpushim report` has the whole run.",
    "  quiet   no call returned for 5 s    silent  nothing was written for 5 s",
    "  died    the process has gone and left no word    -   not recorded",
};

std::vector<TopRow> rows_of(const RunNow& run) {
    std::vector<TopRow> rows;
    for (const RankNow& rank : run.ranks) {
        for (size_t i = 0; i < rank.gpus.size(); ++i) rows.push_back({&rank, &rank.gpus[i], i});
        if (rank.gpus.empty()) rows.push_back({&rank, nullptr, 0});
    }
    return rows;
}

// A number is a rank, a GPU of one, or a process, whole: 1 is not 11, nor process 4127.
bool is_left(const TopRow& row, const std::string& filter) {
    if (filter.empty()) return true;
    if (filter.find_first_not_of("0123456789") == std::string::npos)
        return row.rank->label == filter || label_of(row) == filter ||
               std::to_string(row.rank->pid) == filter;
    const std::string all = label_of(row) + " " + row.rank->host + " " + std::to_string(row.rank->pid) + " " +
                            name_of(row.rank->state) + " " + short_mark(row) +
                            (row.gpu != nullptr ? " " + row.gpu->uuid + " " + row.gpu->name : "");
    return all.find(filter) != std::string::npos;
}

std::vector<TopRow> chosen_rows(const RunNow& run, const TopState& state) {
    std::vector<TopRow> rows = rows_of(run);
    std::erase_if(rows, [&](const TopRow& row) { return !is_left(row, state.filter); });
    if (state.order != TopOrder::rank)
        std::stable_sort(rows.begin(), rows.end(), [&](const TopRow& a, const TopRow& b) {
            return order_of(state.order, a) > order_of(state.order, b);
        });
    if (state.is_reversed) std::reverse(rows.begin(), rows.end());
    return rows;
}

// Of the ranks that run.
PaceNow pace_of(const RunNow& run) {
    std::vector<const PaceNow*> paces;
    for (const RankNow& rank : run.ranks)
        if (rank.pace.median_ns) paces.push_back(&rank.pace);
    if (paces.empty()) return {};
    std::sort(paces.begin(), paces.end(),
              [](const PaceNow* a, const PaceNow* b) { return *a->median_ns < *b->median_ns; });
    return *paces[paces.size() / 2];
}

std::string bars_of(const PaceNow& pace) {
    static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string bars;
    for (const std::optional<int64_t>& point : pace.course_ns) {
        if (!point || *point <= 0 || !pace.median_ns) {
            bars += " ";
            continue;
        }
        const double times = static_cast<double>(*point) / static_cast<double>(*pace.median_ns);
        bars += kBars[static_cast<size_t>(std::clamp(std::lround(3.5 * (1 + std::log2(times))), 0L, 7L))];
    }
    return bars;
}

std::string clock_text(int64_t ns) {
    const int64_t seconds = std::max<int64_t>(0, ns / 1'000'000'000);
    char text[32];
    std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                  static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
    return text;
}

void draw_title(const RunNow& run, const TopState& state, Grid& grid) {
    size_t gpus = 0;
    for (const RankNow& rank : run.ranks) gpus += rank.gpus.size();
    std::string text = shortened(for_terminal(run.program), 20);
    const auto count = [](size_t number, const char* what) {
        return count_text(static_cast<int64_t>(number)) + " " + what + (number == 1 ? "" : "s");
    };
    text += (text.empty() ? "" : "  ") + count(run.ranks.size(), "rank") + ", " + count(gpus, "GPU");
    const bool is_over =
        !run.ranks.empty() && std::all_of(run.ranks.begin(), run.ranks.end(), [](const RankNow& rank) {
            return rank.state == RankState::ended || rank.state == RankState::died;
        });
    if (is_over)
        text += "  ended";
    else if (run.started_real_ns)
        text += "  " + clock_text(run.taken_real_ns - *run.started_real_ns);
    const size_t end = 15 + width_of(text);
    const std::string_view no_gpu = kNoGpu;
    const size_t word =
        no_gpu.find(':');  // all of it, or its first word, where there is room for more or not
    // Before what may be cut for it.
    if (run.is_simulated())
        grid.put(0, std::min(end, grid.columns() - std::min(grid.columns(), word)),
                 end + no_gpu.size() <= grid.columns() ? no_gpu : no_gpu.substr(0, word), Style::warning);
    grid.put(0, 0, "gpushim top", Style::heading);
    grid.put(0, 13, text);
    if (state.is_paused) grid.put_right(1, grid.columns(), "PAUSED", Style::warning);
}

void draw_pace(const RunNow& run, const TopLook& look, Grid& grid) {
    const PaceNow pace = pace_of(run);
    std::string step = "step -", bars, text;
    if (pace.median_ns) {
        step = std::string("step ") + (pace.is_marked ? "" : "~") +
               duration_text(static_cast<double>(*pace.median_ns)) + "  " + change_text(pace.change);
        if (look.has_marks && pace.is_marked) bars = "  " + bars_of(pace);
    }
    if (run.slowest) text += "  slowest rank " + for_terminal(run.ranks[*run.slowest].label);
    std::optional<double> own;
    std::optional<int64_t> age_ns;
    for (const RankNow& rank : run.ranks) {
        own = std::max(own, rank.own_share);
        age_ns = std::max(age_ns, rank.window_age_ns);
    }
    text += "  own cost " + share_text(own) + " %";
    text += age_ns ? "  GPU shares " + age_text(*age_ns) + " old" : "";
    const bool have_room = width_of(step + bars + text) <= grid.columns();
    grid.put(1, 0, step + (have_room ? bars : "") + text);
}

// Who others wait for stands before who waits.
int urgency(RankState state) {
    switch (state) {
        case RankState::died:
            return 0;
        case RankState::silent:
            return 1;
        case RankState::unreadable:
            return 2;
        default:
            return 3;
    }
}

void add_notes_on_ranks(const std::vector<RankNow>& ranks, bool is_waiting, std::vector<std::string>& notes) {
    std::vector<const RankNow*> odd;
    for (const RankNow& rank : ranks)
        if (!rank.why.empty() || !rank.open_call.empty() || rank.state == RankState::died)
            odd.push_back(&rank);
    std::stable_sort(odd.begin(), odd.end(), [](const RankNow* a, const RankNow* b) {
        return urgency(a->state) < urgency(b->state);
    });
    for (const RankNow* rank : odd)
        if ((rank->state == RankState::quiet) == is_waiting)
            notes.push_back("rank " + for_terminal(rank->label) + ": " + state_text(*rank));
}

// One line of what needs words; of several the first, and how many more there are. A rank that is not there
// is what those that are wait for.
void draw_notes(const RunNow& run, const TopState& state, Grid& grid) {
    if (state.is_typing || !state.filter.empty()) {
        grid.put(2, 0, "filter: " + for_terminal(state.filter) + (state.is_typing ? "_" : ""),
                 Style::heading);
        return;
    }
    std::vector<std::string> notes;
    add_notes_on_ranks(run.ranks, false, notes);
    for (const std::string& note : run.notes) notes.push_back(for_terminal(note));
    add_notes_on_ranks(run.ranks, true, notes);
    int64_t dropped = 0;
    for (const RankNow& rank : run.ranks) dropped += rank.dropped;
    if (dropped > 0) notes.push_back(count_text(dropped) + " events were dropped: gpushim report says why");
    if (run.ranks.empty()) notes.push_back("there is no trace yet: waiting for one");
    for (const RankNow& rank : run.ranks)
        for (const GpuNow& gpu : rank.gpus)
            if (!gpu.why_no_parts.empty() && notes.empty())
                notes.push_back("no GPU shares: " + for_terminal(gpu.why_no_parts));
    if (notes.empty()) return;
    std::string text = notes[0];
    if (notes.size() > 1) text += "  (and " + std::to_string(notes.size() - 1) + " more)";
    grid.put(2, 0, shortened(text, grid.columns()), Style::warning);
}

// A number that has no room is left out, never cut: what is left of it would be another one.
std::string fitting(const std::string& text, const TopColumn& column, size_t room) {
    if (column.is_text) return shortened(text, room);
    return width_of(text) <= room ? text : "#";
}

void draw_column(const std::vector<TopRow>& rows, const TopState& state, const TopColumn& column, size_t from,
                 size_t until, Grid& grid) {
    const auto put = [&](size_t row, const std::string& text, Style style) {
        const std::string shown = fitting(text, column, until - from - 1);
        column.is_text ? grid.put(row, from + 1, shown, style) : grid.put_right(row, until, shown, style);
    };
    put(kLinesAbove - 1, column.heading, Style::heading);
    for (size_t i = state.first; i < rows.size() && i - state.first < page_of(grid.rows()); ++i)
        put(kLinesAbove + i - state.first, column.text(rows[i]), style_of(*rows[i].rank));
}

// Columns that have no room at all are not shown; the last one of text takes what is left.
void draw_table(const std::vector<TopRow>& rows, const TopState& state, TopView view, Grid& grid) {
    size_t from = 0, label = 0;
    for (const TopRow& row : rows) label = std::max(label, width_of(label_of(row)) + 1);
    const std::span<const TopColumn> columns = columns_of(view);
    for (const TopColumn& column : columns) {
        if (grid.columns() < column.from_columns) continue;
        const bool is_first = &column == &columns.front(), is_last = &column == &columns.back();
        const size_t width = is_first ? std::max(label, column.width) : column.width;
        const size_t until = is_last && column.is_text ? grid.columns() : from + width;
        if (until > grid.columns() || until < from + 2) return;
        draw_column(rows, state, column, from, until, grid);
        from = until;
    }
}

size_t cell_width(const std::vector<TopRow>& rows) {
    size_t label = 3;
    for (const TopRow& row : rows) label = std::max(label, width_of(label_of(row)));
    return label + kCellBehindLabel;
}

//   12 4.29ms  98 sync     rank, step, compute in %, most of its idle time or its state
void draw_grid(const std::vector<TopRow>& rows, const TopState& state, Grid& grid) {
    const size_t width = cell_width(rows), label_end = width - kCellBehindLabel;
    const size_t page = page_of(grid.rows());
    const size_t needed = page > 0 ? (rows.size() + page - 1) / page : 0;
    const size_t across = std::min(needed, std::max<size_t>(1, grid.columns() / width));
    for (size_t column = 0; column < across; ++column)
        grid.put(kLinesAbove - 1, column * width + label_end - 3, " RK   STEP  CP IDLE", Style::heading);
    for (size_t i = 0; i < page * across && state.first + i < rows.size(); ++i) {
        const TopRow& row = rows[state.first + i];
        const size_t line = kLinesAbove + i % page, from = i / page * width;
        const Style style = style_of(*row.rank);
        grid.put_right(line, from + label_end, label_of(row), style);
        grid.put_right(line, from + label_end + 7, short_duration(row.rank->pace.median_ns), style);
        const bool is_known = row.gpu != nullptr && row.gpu->parts;
        const std::string compute =
            is_known ? std::to_string(std::lround(100 * row.gpu->parts->share(row.gpu->parts->productive_ns)))
                     : "-";
        grid.put_right(line, from + label_end + 11, compute, style);
        grid.put(line, from + label_end + 12, short_mark(row), style);
    }
}

}  // namespace

size_t page_of(size_t rows) {
    return rows > kLinesAbove + kLinesBelow ? rows - kLinesAbove - kLinesBelow : 0;
}

std::vector<size_t> chosen_ranks(const RunNow& run, const TopState& state) {
    std::vector<size_t> places;
    for (const TopRow& row : chosen_rows(run, state))
        places.push_back(static_cast<size_t>(row.rank - run.ranks.data()));
    return places;
}

Grid draw_top(const RunNow& run, TopState& state, size_t rows, size_t columns, const TopLook& look) {
    Grid grid(rows, columns);
    if (state.shows_help) {
        for (size_t i = 0; i < std::size(kHelp); ++i)
            grid.put(i, 0, kHelp[i], kHelp[i][0] == ' ' ? Style::plain : Style::heading);
        return grid;
    }
    const std::vector<TopRow> chosen = chosen_rows(run, state);
    const size_t page = page_of(rows);
    const TopView view = state.view.value_or(chosen.size() > page ? TopView::grid : TopView::parts);
    const size_t seen =
        view == TopView::grid ? page * std::max<size_t>(1, columns / cell_width(chosen)) : page;
    state.first = chosen.size() > seen ? std::min(state.first, chosen.size() - seen) : 0;
    draw_title(run, state, grid);
    draw_pace(run, look, grid);
    draw_notes(run, state, grid);
    view == TopView::grid ? draw_grid(chosen, state, grid) : draw_table(chosen, state, view, grid);
    const std::string sorted =
        std::string(name_of(view)) + ", by " + name_of(state.order) + (state.is_reversed ? ", reversed" : "");
    const std::string range = chosen.size() > seen && seen > 0
                                  ? "  " + std::to_string(state.first + 1) + "-" +
                                        std::to_string(state.first + seen) + " of " +
                                        std::to_string(chosen.size())
                                  : "";
    if (rows > 0 && look.has_keys) {
        grid.put_right(rows - 1, columns, sorted + range);
        grid.put(rows - 1, 0, kKeys);
    }
    return grid;
}

}  // namespace gpushim::analysis
