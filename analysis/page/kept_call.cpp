#include "kept_call.h"

#include "../text/units.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kToDevice = 1, kToHost = 2, kToPeer = 4;  // copy: its direction

// Where nothing better is recorded.
const char* usual_name(const KeptCall& call) {
    if (call.is_collective) return "collective";
    if (call.kind == "copy" && call.direction == kToDevice) return "copy to the device";
    if (call.kind == "copy" && call.direction == kToHost) return "copy to the host";
    if (call.kind == "copy" && call.direction == kToPeer) return "copy between GPUs";
    if (call.kind == "copy") return "copy";
    if (call.kind == "memset") return "memset";
    return call.kind == "graph" ? "graph" : "kernel";
}

bool is_any(const ReportSource& source, const RankInStep& rank, const char* condition) {
    Query row =
        source.run.prepare("SELECT EXISTS (SELECT 1 FROM kept_call WHERE rank_id = ?1 AND step = ?2 AND " +
                           std::string(condition) + ")");
    row.bind(1, rank.rank_id);
    row.bind(2, rank.step);
    return row.step() && row.number(0) != 0;
}

std::string duration(int64_t ns) { return duration_text(static_cast<double>(ns)); }

}  // namespace

KeptCall::KeptCall(const Query& row)
    : kind(row.text(0)),
      api(row.text(1)),
      kernel(kind == "launch" ? row.text(2) : ""),
      device(row.number(3)),
      stream(row.number(4)),
      enter_ns(plausible_time(row.number(5))),
      start_ns(plausible_time(row.number(7))),
      ran_ns(plausible_span(row.number(8))),
      error_ns(row.number(9)),
      before(row.number(12)),
      call_ns(row.maybe(6)),
      is_collective(row.number(10) != 0),
      direction(kind == "copy" ? row.number(11) : 0),
      bytes(kind == "copy" || kind == "memset" ? row.maybe(15) : std::nullopt),
      range(row.text(13)),
      line(row.text(14)) {}

Query kept_operations(const ReportSource& source, const RankInStep& rank) {
    Query rows = source.run.prepare(
        "SELECT c.kind, a.text, w.text, c.device_id, c.stream, c.enter_ns, c.dur_ns, c.start_ns, c.ran_ns,"
        " c.error_ns, c.group_id IS NOT NULL, c.n1, c.before, r.text, l.text, c.n0 FROM kept_call c"
        " LEFT JOIN kept_text a ON a.rank_id = c.rank_id AND a.id = c.name_id"
        " LEFT JOIN kept_text w ON w.rank_id = c.rank_id AND w.id = c.what_id"
        " LEFT JOIN kept_text r ON r.rank_id = c.rank_id AND r.id = c.range_id"
        " LEFT JOIN kept_text l ON l.rank_id = c.rank_id AND l.id = c.line_id"
        " WHERE c.rank_id = ?1 AND c.step = ?2 AND c.start_ns IS NOT NULL AND c.ran_ns IS NOT NULL"
        " ORDER BY c.nth");
    rows.bind(1, rank.rank_id);
    rows.bind(2, rank.step);
    return rows;
}

CallWords::CallWords(const ReportSource& source, const KernelNames& names, const RankInStep& rank)
    : source_(source),
      names_(names),
      rank_(rank),
      has_ranges_(is_any(source, rank, "kind = 'range'")),
      has_lines_(is_any(source, rank, "line_id IS NOT NULL")) {}

std::string CallWords::name(const KeptCall& call) const {
    if (call.kernel.empty()) return usual_name(call);
    const auto [found, is_new] = short_names_.try_emplace(call.kernel);
    if (is_new) found->second = shown(source_.short_kernel_name(names_.name_of(call.kernel)));
    return found->second.empty() ? usual_name(call) : found->second;
}

// "Called by cuLaunchKernel at 812 us, in 3.10 us; began 400 us after that, ±2 us."
std::string CallWords::called(const KeptCall& call) const {
    const int64_t at_ns = rank_.here(call.enter_ns) - rank_.begin_ns;
    std::string text =
        "called by " + (call.api.empty() ? "a function that is not recorded" : shown(call.api));
    const std::string what = rank_.is_excerpt ? "the excerpt" : "the step";
    text += " " + duration(std::abs(at_ns)) + (at_ns < 0 ? " before " : " into ") + what;
    text += call.call_ns ? ", which took " + duration(*call.call_ns) : "; how long that took is not recorded";
    text +=
        "; began " + duration(std::max<int64_t>(call.start_ns - call.enter_ns, 0)) + " after the call did";
    return call.error_ns > 0 ? text + ", ±" + duration(call.error_ns) : text;
}

std::string CallWords::where(const KeptCall& call) const {
    std::string text =
        rank_.rank + ", GPU " + std::to_string(call.device) + ", stream " + std::to_string(call.stream);
    if (call.bytes) text += ", " + bytes_text(static_cast<double>(*call.bytes));
    if (rank_.is_excerpt) return text;
    if (call.before > rank_.step) return text + ", called before the first step";
    if (call.before == 1) return text + ", of the step before";
    return call.before > 0 ? text + ", of " + std::to_string(call.before) + " steps before" : text;
}

std::string CallWords::line(const KeptCall& call) const {
    if (!call.line.empty()) return source_.name("path", call.line);
    if (call.kind != "launch") return "not recorded: only launches of kernels are sampled";
    return has_lines_ ? "not recorded: no launch of this kernel was sampled" : "not recorded";
}

std::vector<std::string> CallWords::details(const KeptCall& call, bool has_whole_name) const {
    const std::string range = !call.range.empty() ? source_.name("range", call.range)
                              : has_ranges_       ? "none of this time"
                                                  : "not recorded";
    std::vector<std::string> all = {where(call), called(call), "range: " + range, "Python: " + line(call)};
    if (call.kind == "graph")
        all.insert(all.begin(), "all of a graph: its operations, and gaps between them, are not told apart");
    if (has_whole_name) return all;
    const std::string full = source_.name("kernel", names_.name_of(call.kernel));
    if (!full.empty() && full != name(call)) all.insert(all.begin(), full);
    return all;
}

}  // namespace gpushim::analysis
