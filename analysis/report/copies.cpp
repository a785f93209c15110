// What is copied: by stream and direction, how often in a step, from what memory, and how fast against the
// best seen here.
#include <cmath>
#include <cstdio>

#include "../text/units.h"
#include "facts.h"
#include "gpu_label.h"
#include "section.h"

namespace gpushim::analysis::section_copies {

namespace {

constexpr size_t kMostLines = 4;
constexpr double kRare = 1.5;          // steps for each copy
constexpr int64_t kSmallBytes = 4096;  // a figure that the host looks at, as small_d2h_sync has it

struct Copies {
    int64_t gpu_id;
    GpuLabel label;
    std::string stream, kind, why;
    int64_t count, bytes, in_steps;
    double steps;  // of the run; 0: not known
    int64_t calls_ns;
    int64_t timed, sum_ns, timed_bytes, blocks_ns;
    int64_t blocking_calls_ns;
    double pageable, blocking;          // bytes
    double managed = 0;                 // … of pages of managed memory
    std::optional<double> best_pinned;  // on this GPU, in this direction
    int64_t then_sync = 0;
    double bytes_in_steps = 0, steps_with_marks = 0;  // steps: 0: all were recorded, or rows are gone
    // Of those that (nearly) every step has, by their places in it. A model's weights on their way to the
    // GPU, or a checkpoint's to the host, are more than all batches together, and tell nothing of a step.
    int64_t regular_bytes = 0;
    double of_step = 0, regular_pageable = 0, regular_blocking = 0;  // bytes
    std::optional<double> regular_rate;

    bool has_sizes() const { return bytes > 0; }  // of what AMD's runtime copies by kernels none is told
    bool is_stepped() const { return regular_bytes > 0; }
    bool is_mostly(double some, double some_of_regular) const {
        const auto all = static_cast<double>(is_stepped() ? regular_bytes : bytes);
        return (is_stepped() ? some_of_regular : some) > all / 2;
    }
    bool is_pageable() const { return is_mostly(pageable, regular_pageable); }
    bool is_managed() const { return managed > static_cast<double>(bytes) / 2; }
    bool is_blocking() const { return is_mostly(blocking, regular_blocking); }

    std::optional<double> rate() const {
        if (timed == 0 || sum_ns <= 0 || timed_bytes <= 0) return {};
        return static_cast<double>(timed_bytes) * 1e9 / static_cast<double>(sum_ns);
    }
    // Only a call that returns when the bytes are there tells how long they took.
    std::optional<double> host_rate() const {
        return share_of(blocking * 1e9, static_cast<double>(blocking_calls_ns));
    }
    // Where only some steps were recorded, the copies in them tell what a step has: before the first mark a
    // program fills its pipeline. Else all of them do, for what filled it is missing at the end.
    bool is_by_steps() const { return steps_with_marks > 0 && in_steps > 0; }
    double counted_steps() const { return is_by_steps() ? steps_with_marks : steps; }
    double counted() const { return static_cast<double>(is_by_steps() ? in_steps : count); }
    double counted_bytes() const { return is_by_steps() ? bytes_in_steps : static_cast<double>(bytes); }
    std::optional<double> per_step() const {
        return share_of(static_cast<double>(in_steps), counted_steps());
    }
};

constexpr const char* kCopies =
    "WITH placed AS (SELECT c.*, coalesce((SELECT t.whole_steps FROM v_run_steps t JOIN gpu g"
    "   ON g.rank_id = t.rank_id WHERE g.gpu_id = c.gpu_id), 0) AS whole,"
    "  sum(c.steps) OVER (PARTITION BY c.gpu_id, c.stream_id, c.kind, c.position) AS there FROM copy_stat c),"
    " told AS (SELECT *, position >= 0 AND whole > 0 AND there * 3 >= whole * 2 AS is_regular FROM placed)"
    " SELECT c.gpu_id, coalesce(s.stream, CAST(c.stream_id AS TEXT)), c.kind, sum(c.count), sum(c.bytes),"
    " sum(CASE WHEN c.position >= 0 THEN c.count ELSE 0 END), sum(c.call_sum_ns), sum(c.timed),"
    " sum(c.sum_ns), sum(c.timed_bytes), sum(c.blocks_kernels_ns),"
    " sum(CASE WHEN c.source = 'pageable' OR c.target = 'pageable' THEN c.bytes ELSE 0 END),"
    " sum(CASE WHEN c.blocking = 1 THEN c.bytes ELSE 0 END),"
    " (SELECT max(b.best_bytes_per_s) FROM copy_stat b WHERE b.gpu_id = c.gpu_id AND b.kind = c.kind"
    "  AND b.source <> 'pageable' AND b.target <> 'pageable'),"
    " coalesce((SELECT t.whole_steps FROM v_run_steps t JOIN gpu g ON g.rank_id = t.rank_id"
    "  WHERE g.gpu_id = c.gpu_id), 0),"
    " coalesce((SELECT g.why FROM gpu g WHERE g.gpu_id = c.gpu_id), ''),"
    " CASE WHEN c.kind = 'd2h' THEN coalesce((SELECT p.steps FROM transfer_pattern p"
    "  WHERE p.gpu_id = c.gpu_id AND p.pattern = 'small_d2h_sync'), 0) ELSE 0 END,"
    " sum(CASE WHEN c.blocking = 1 THEN c.call_sum_ns ELSE 0 END),"
    " sum(CASE WHEN c.position >= 0 THEN c.bytes ELSE 0 END),"
    " coalesce((SELECT t.whole_steps - coalesce(r.outside_steps, 0) FROM v_run_steps t"
    "  JOIN rank r ON r.rank_id = t.rank_id JOIN gpu g ON g.rank_id = t.rank_id"
    "  WHERE g.gpu_id = c.gpu_id AND coalesce(r.rows_gone, 0) = 0 AND EXISTS (SELECT 1 FROM step s"
    "   WHERE s.rank_id = r.rank_id AND s.why = 'not recorded, or not all of it')), 0),"
    " sum(CASE WHEN is_regular THEN c.bytes ELSE 0 END),"
    " sum(CASE WHEN is_regular THEN c.bytes * 1.0 / there ELSE 0 END),"
    " sum(CASE WHEN is_regular THEN c.timed_bytes END) * 1e9"
    "  / nullif(sum(CASE WHEN is_regular THEN c.sum_ns END), 0),"
    " sum(CASE WHEN is_regular AND (c.source = 'pageable' OR c.target = 'pageable') THEN c.bytes ELSE 0 END),"
    " sum(CASE WHEN is_regular AND c.blocking = 1 THEN c.bytes ELSE 0 END),"
    " sum(CASE WHEN c.source = 'managed' AND c.target = 'managed' THEN c.bytes ELSE 0 END)"
    " FROM told c LEFT JOIN stream_stat s ON s.gpu_id = c.gpu_id AND s.stream_id = c.stream_id"
    " GROUP BY c.gpu_id, c.stream_id, c.kind ORDER BY sum(c.bytes) DESC, c.gpu_id, c.stream_id, c.kind";

std::vector<Copies> copies_of(const Database& run) {
    const auto labels = gpu_labels(run);
    std::vector<Copies> all;
    Query row = run.prepare(kCopies);
    while (row.step()) {
        const auto label = labels.find(row.number(0));
        if (label == labels.end()) continue;
        all.push_back({row.number(0), label->second,      row.text(1),    row.text(2),         row.text(15),
                       row.number(3), row.number(4),      row.number(5),  row.real(14),        row.number(6),
                       row.number(7), row.number(8),      row.number(9),  row.number(10),      row.number(17),
                       row.real(11),  row.real(12),       row.real(25),   maybe_real(row, 13), row.number(16),
                       row.real(18),  row.real(19),       row.number(20), row.real(21),        row.real(23),
                       row.real(24),  maybe_real(row, 22)});
    }
    return all;
}

Json json_of(const Copies& copies) {
    const auto bytes = static_cast<double>(copies.bytes);
    const std::string untimed = copies.why.empty() ? "no such copy has device times" : copies.why;
    const std::string no_sizes = "how many bytes were copied is not recorded";
    return Facts()
        .maybe("rank", copies.label.rank, "no rank is known")
        .known("gpu_id", copies.gpu_id)
        .known("stream", copies.stream)
        .known("kind", copies.kind)
        .known("count", copies.count)
        .maybe("bytes", copies.has_sizes() ? std::optional(copies.bytes) : std::nullopt, no_sizes)
        .maybe("pageable_share", share_of(copies.pageable, bytes), no_sizes)
        .maybe("managed_share", share_of(copies.managed, bytes), no_sizes)
        .maybe("blocking_share", share_of(copies.blocking, bytes), no_sizes)
        .maybe("achieved_bytes_per_s", copies.rate(), copies.has_sizes() ? untimed : no_sizes)
        .maybe("per_step", copies.per_step(), "no steps were found")
        .maybe("best_pinned_bytes_per_s", copies.best_pinned,
               "no such copy of pinned memory has device times")
        .maybe("host_bytes_per_s", copies.host_rate(), "no call waited for its bytes")
        .known("call_sum_ns", copies.calls_ns)
        .maybe("blocks_kernels_ns", copies.timed > 0 ? std::optional(copies.blocks_ns) : std::nullopt,
               untimed)
        .json();
}

// How much, and how often.
std::string amount_of(const Copies& copies) {
    if (!copies.has_sizes()) return count_text(copies.count) + " in all, sizes not recorded";
    const double count = copies.counted(), steps = copies.counted_steps();
    if (copies.is_stepped()) return bytes_text(copies.of_step) + "/step";
    // What is not of every step is no amount of a step.
    if (steps >= kRare * count)
        return bytes_text(copies.counted_bytes() / count) + " in one of " +
               count_text(std::llround(steps / count)) + " steps";
    if (steps > 0 && copies.in_steps > 0) return bytes_text(copies.counted_bytes() / steps) + "/step";
    return bytes_text(static_cast<double>(copies.bytes)) + " in all";
}

std::string times_of(const Copies& copies) {
    const bool stepped = copies.is_stepped();
    const std::optional<double> rate = stepped ? copies.regular_rate : copies.rate();
    if (!copies.has_sizes() && copies.timed > 0)
        return ", " + duration_text(static_cast<double>(copies.sum_ns) / static_cast<double>(copies.timed)) +
               " each";
    if (!rate) {
        const auto host = copies.host_rate();
        return host ? ", at " + rate_text(*host) + " by host times" : "";
    }
    const double ns = stepped ? copies.of_step * 1e9 / *rate
                              : static_cast<double>(copies.sum_ns) / static_cast<double>(copies.timed);
    std::string text = ", " + duration_text(ns) + (stepped ? "" : " each") + " at " + rate_text(*rate);
    if (copies.is_pageable() && copies.best_pinned > rate)  // else only small ones were pinned
        text += " (pinned: " + rate_text(*copies.best_pinned) + ")";
    return text;
}

std::string line_of(const Copies& copies, bool names_rank) {
    const bool stepped = copies.is_stepped();
    std::string text = (names_rank ? copies.label.text + " " : "") + "stream " + copies.stream + "  " +
                       copies.kind + " " + amount_of(copies);
    if (copies.is_pageable()) text += ", pageable";
    if (copies.is_managed()) text += ", pages of managed memory";
    if (copies.is_blocking()) text += ", blocking";
    text += times_of(copies);
    if (stepped && copies.of_step <= static_cast<double>(kSmallBytes) &&
        static_cast<double>(copies.then_sync) * 2 > copies.steps)
        text += ", waited for in every step";
    if (const int64_t rest = copies.bytes - copies.regular_bytes; stepped && rest > copies.regular_bytes / 10)
        text += "; " + bytes_text(static_cast<double>(rest)) + " in few steps or none";
    return text;
}

// One line for each stream and direction of the GPU that copies most; others are like it or counted.
void write(const ReportSource& source, Report& report) {
    const std::vector<Copies> all = copies_of(source.run);
    Json list = Json::array();
    for (const Copies& copies : all) list.push(json_of(copies));
    report.json.set("copies", std::move(list));
    const bool names_rank = gpu_labels(source.run).size() > 1;
    size_t shown = 0, others = 0;
    for (const Copies& copies : all) {
        if (copies.label.text != all[0].label.text || shown >= kMostLines) {
            ++others;
            continue;
        }
        report.line((shown++ == 0 ? "COPY       " : "           ") + line_of(copies, names_rank));
    }
    if (others != 0) report.line("           … and " + std::to_string(others) + " more: --json has them all");
}

constexpr Section kSection = {"copies", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_copies
