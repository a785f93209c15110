#include "span_rows.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace gpushim::shim {
namespace {

constexpr const char* kSpanWords[] = {"unfinished",  "mark",      "push",    "pop",
                                      "range_start", "range_end", "category"};
static_assert(std::size(kSpanWords) == static_cast<size_t>(Span::count));

// As the program's threads see it (nvtx.cpp).
bool is_step(Span kind, std::string_view domain, std::string_view text) {
    if (kind != Span::mark && text.starts_with("ProfilerStep#")) return true;
    return text == "step" && domain == "gpushim";
}

// By Marker.
constexpr const char* kMarkerKinds[] = {"mark", "step", "step", "rest", "resume"};

}  // namespace

// One id for a domain as long as we run: texts are forgotten when there are many.
int64_t SpanRows::domain_id(std::string_view name) {
    if (name.empty()) return kNull;
    const auto [place, is_new] = domains_.try_emplace(std::string(name));
    if (is_new) place->second = names_.id_of_said(name);
    return place->second;
}

SpanBegun SpanRows::said_with(const Call& call, std::string_view domain, std::string_view text) {
    const auto words = call.words<event::span>();
    const uint64_t what = words.what;
    const auto category = static_cast<int64_t>(what >> 32);
    return {call.enter_ns, text.empty() ? kNull : names_.id_of_said(text), category == 0 ? kNull : category,
            (what & kSpanHasPayload) != 0 ? Rows::real(std::bit_cast<double>(words.payload)) : kNull,
            is_step(static_cast<Span>(what & 0xff), domain, text)};
}

void SpanRows::span(const Call& call) {
    const auto words = call.words<event::span>();
    const uint64_t what = words.what;
    const Span kind = (what & 0xff) < std::size(kSpanWords) ? static_cast<Span>(what & 0xff) : Span::nothing;
    const std::string_view texts = call.finished ? call.event.text : std::string_view();
    const size_t domain_bytes = std::min<size_t>(what >> 16 & 0xffff, texts.size());
    const int64_t domain = domain_id(texts.substr(0, domain_bytes));
    auto value = static_cast<int64_t>(words.value);
    SpanBegun row = said_with(call, texts.substr(0, domain_bytes), texts.substr(domain_bytes));
    int64_t dur_ns = kNull;

    if (kind == Span::push) spans_.pushed(call.thread, domain, value, row);
    if (kind == Span::range_start) spans_.started(value, row);
    if (kind == Span::pop || kind == Span::range_end) {
        row = kind == Span::pop ? spans_.popped(call.thread, domain, value) : spans_.ended(value);
        if (row.enter_ns != kNull) dur_ns = call.enter_ns - row.enter_ns;
    }
    if (kind == Span::mark || kind == Span::category || kind == Span::nothing) value = kNull;
    tables_.marker.add({.enter_ns = call.enter_ns,
                        .thread_id = call.thread,
                        .kind = tables_.marker.text(kSpanWords[static_cast<size_t>(kind)]),
                        .name_id = row.name_id,
                        .value = value,
                        .domain_id = domain,
                        .category = row.category,
                        .payload = row.payload,
                        .dur_ns = dur_ns,
                        .flags = call.flags},
                       marker_series(call));
    if (row.is_step && kind == Span::mark) add_step(call.enter_ns, call.thread, kNull);
    if (row.is_step && dur_ns != kNull) add_range_step(row, call.thread, dur_ns);
}

// Each lasts until the next of its thread.
void SpanRows::add_step(int64_t enter_ns, int64_t thread, int64_t samples) {
    auto& rows = tables_.step_total;
    rows.add({.enter_ns = enter_ns,
              .thread_id = thread,
              .source = rows.text("mark"),
              .steps = 1,
              .samples = samples});
}

void SpanRows::add_range_step(const SpanBegun& step, int64_t thread, int64_t dur_ns) {
    auto& rows = tables_.step_total;
    rows.add({.enter_ns = step.enter_ns,
              .thread_id = thread,
              .source = rows.text("range"),
              .steps = 1,
              .sum_ns = dur_ns,
              .min_ns = dur_ns,
              .max_ns = dur_ns});
}

// Those that were open when the trace was last written.
void SpanRows::load(Database& base) {
    Statement open = base.prepare(
        "SELECT start_ns, thread_id, kind, value, name_id, domain_id, category, payload, payload IS NULL,"
        " n.text, d.text FROM v_open_range LEFT JOIN name n ON n.id = name_id"
        " LEFT JOIN name d ON d.id = domain_id ORDER BY value");
    while (open.step()) {
        const SpanBegun begun = {open.number(0), open.number(4), open.number(6),
                                 open.number(8) != 0 ? kNull : Rows::real(open.real(7)),
                                 is_step(Span::push, open.text(10), open.text(9))};
        if (open.text(2) == "push")
            spans_.pushed(open.number(1), open.number(5), open.number(3), begun);
        else
            spans_.started(open.number(3), begun);
    }
}

void SpanRows::add_marker(const Call& call, const char* kind, int64_t name_id, int64_t value) {
    tables_.marker.add({.enter_ns = call.enter_ns,
                        .thread_id = call.thread,
                        .kind = tables_.marker.text(kind),
                        .name_id = name_id,
                        .value = value,
                        .flags = call.flags},
                       marker_series(call));
}

// No calls: those of the profiler are counted as what they say.
int64_t SpanRows::marker_series(const Call& call) {
    return series_.id({.kind = SeriesKind::marker, .flags = call.flags});
}

void SpanRows::marker(const Call& call) {
    const auto words = call.words<event::marker>();
    const auto what = static_cast<Marker>(words.what);
    const int64_t name = call.event.text.empty() ? kNull : names_.id_of_said(call.event.text);
    const int64_t value = what == Marker::step_n ? static_cast<int64_t>(words.value) : kNull;
    const auto kind = std::min<size_t>(words.what, std::size(kMarkerKinds) - 1);
    add_marker(call, kMarkerKinds[kind], name, value);
    if (what == Marker::step || what == Marker::step_n) add_step(call.enter_ns, call.thread, value);
}

}  // namespace gpushim::shim
