#include "serving_figures.h"

#include <algorithm>
#include <numeric>

#include "facts.h"

namespace gpushim::analysis {

namespace {

// The program of the first rank that tells; ranks of one job run one program.
constexpr const char* kProgram =
    "SELECT kind, confidence, why FROM program ORDER BY kind = 'not known', rank_id LIMIT 1";

constexpr const char* kKinds =
    "WITH placed AS (SELECT kind, class, graphs, dur_ns, row_number() OVER k AS place,"
    "  count(*) OVER (PARTITION BY kind) AS n FROM v_iteration WHERE number BETWEEN ?1 AND ?2"
    "  WINDOW k AS (PARTITION BY kind ORDER BY dur_ns))"
    " SELECT kind, n, count(DISTINCT class), sum(graphs = 0), sum(dur_ns),"
    "  min(CASE WHEN place * 100 >= n * 50 THEN dur_ns END),"
    "  min(CASE WHEN place * 100 >= n * 95 THEN dur_ns END),"
    "  min(CASE WHEN place * 100 >= n * 99 THEN dur_ns END) FROM placed GROUP BY kind ORDER BY 5 DESC, 1";

constexpr const char* kGpu =
    "SELECT v.kind, sum(g.window_ns), sum(g.productive_ns), sum(g.waiting_for_peer_ns + "
    "g.exposed_transfer_ns),"
    " sum(g.memory_ns), sum(g.idle_ns) FROM v_iteration v JOIN gpu u ON u.rank_id = v.rank_id"
    " JOIN v_gpu_counted g ON g.gpu_id = u.gpu_id AND g.step = v.step"
    " WHERE v.number BETWEEN ?1 AND ?2 GROUP BY v.kind";

constexpr const char* kTokens =
    "SELECT min(CASE WHEN place * 100 >= n * 50 THEN gap_ns END),"
    " min(CASE WHEN place * 100 >= n * 95 THEN gap_ns END),"
    " min(CASE WHEN place * 100 >= n * 99 THEN gap_ns END)"
    " FROM (SELECT gap_ns, row_number() OVER (ORDER BY gap_ns) AS place, count(*) OVER () AS n FROM "
    "v_token_gap t"
    "  JOIN v_iteration v ON v.rank_id = t.rank_id AND v.step = t.step"
    "  WHERE gap_ns IS NOT NULL AND v.number BETWEEN ?1 AND ?2)";

constexpr const char* kIdle =
    "SELECT i.why, sum(i.ns) * 1.0 / (SELECT sum(g.window_ns) FROM v_iteration v"
    "  JOIN gpu u ON u.rank_id = v.rank_id JOIN v_gpu_counted g ON g.gpu_id = u.gpu_id AND g.step = v.step"
    "  WHERE v.number BETWEEN ?1 AND ?2)"
    " FROM v_serving_idle i JOIN v_gpu_basis b ON b.gpu_id = i.gpu_id AND b.step = i.step"
    " WHERE b.number BETWEEN ?1 AND ?2 GROUP BY i.why ORDER BY 2 DESC, 1";

struct Word {
    std::string_view why, words;
};
constexpr Word kIdleWords[] = {
    {"no_request", "no request (inferred)"},
    {"between_iterations", "the host between iterations"},
    {"read_back", "reading tokens back"},
    {"graph_miss", "decodes without their graph"},
    {"eager_decode", "launching decodes without a graph"},
    {"launching", "launching"},
    {"compiling", "compiling or loading code"},
    {"graph_update", "making or updating graphs"},
    {"allocation", "allocation"},
    {"copies", "staging copies"},
    {"waiting", "other GPUs"},
    {"other", "other"},
};

// Of each kind: iterations in which code was loaded, their median, and that of the others.
constexpr const char* kLoads =
    "WITH placed AS (SELECT kind, loads, dur_ns, row_number() OVER (PARTITION BY kind, loads ORDER BY dur_ns)"
    "  AS place, count(*) OVER (PARTITION BY kind, loads) AS n FROM v_iteration"
    "  WHERE number BETWEEN ?1 AND ?2)"
    " SELECT kind, sum(loads), min(CASE WHEN loads = 1 AND place * 2 >= n THEN dur_ns END),"
    "  min(CASE WHEN loads = 0 AND place * 2 >= n THEN dur_ns END) FROM placed GROUP BY kind";

Percentiles percentiles(const Query& row, int first) {
    return {row.maybe(first), row.maybe(first + 1), row.maybe(first + 2)};
}

void read_gpu(const ReportSource& source, ServingFigures& figures) {
    Query untold = source.run.prepare("SELECT EXISTS (SELECT 1 FROM v_unknown_wait)");
    figures.knows_waits = untold.step() && untold.number(0) == 0;
    Query gpu = source.of_steps(kGpu);
    while (gpu.step()) {
        const auto kind = std::find_if(figures.kinds.begin(), figures.kinds.end(),
                                       [&](const KindOfIteration& one) { return one.kind == gpu.text(0); });
        if (kind == figures.kinds.end() || gpu.is_null(1)) continue;
        const double window_ns = gpu.real(1);
        kind->compute = share_of(gpu.real(2), window_ns);
        if (!kind->hides_collectives) kind->exposed = share_of(gpu.real(3), window_ns);
        kind->memory = share_of(gpu.real(4), window_ns);
        kind->idle = share_of(gpu.real(5), window_ns);
    }
}

void read_loads(const ReportSource& source, ServingFigures& figures) {
    Query loads = source.of_steps(kLoads);
    while (loads.step())
        for (KindOfIteration& kind : figures.kinds)
            if (kind.kind == loads.text(0)) {
                kind.loading = loads.number(1);
                kind.loading_ns = loads.maybe(2);
                kind.others_ns = loads.maybe(3);
            }
}

ServingFigures read_figures(const ReportSource& source) {
    ServingFigures figures;
    Query program = source.run.prepare(kProgram);
    if (program.step()) {
        figures.program = program.text(0);
        figures.confidence = program.real(1);
        figures.why = program.text(2);
    }
    if (!figures.serves()) return figures;
    Query marks = source.run.prepare("SELECT EXISTS (SELECT 1 FROM quiet)");
    figures.marks_requests = marks.step() && marks.number(0) != 0;
    Query kinds = source.of_steps(kKinds);
    while (kinds.step()) {
        KindOfIteration& kind = figures.kinds.emplace_back();
        kind.kind = kinds.text(0);
        kind.iterations = kinds.number(1);
        kind.classes = kinds.number(2);
        kind.without_graph = kinds.number(3);
        kind.time_ns = kinds.real(4);
        kind.length = percentiles(kinds, 5);
        figures.time_ns += kinds.real(4);
    }
    Query hidden = source.run.prepare("SELECT count(*) FROM v_hidden_collectives");
    const bool hides = hidden.step() && hidden.number(0) > 0;
    for (KindOfIteration& kind : figures.kinds)
        kind.hides_collectives = hides && kind.without_graph < kind.iterations;
    read_gpu(source, figures);
    read_loads(source, figures);
    Query tokens = source.of_steps(kTokens);
    if (tokens.step()) figures.tokens = percentiles(tokens, 0);
    Query idle = source.of_steps(kIdle);
    while (idle.step())
        if (!idle.is_null(1)) figures.idle.emplace_back(idle.text(0), idle.real(1));
    return figures;
}

}  // namespace

std::string ServingFigures::words_of(std::string_view cause) const {
    if (cause == "no_request" && marks_requests) return "no request";
    for (const Word& row : kIdleWords)
        if (row.why == cause) return std::string(row.words);
    return std::string(cause);
}

int64_t ServingFigures::iterations() const {
    return std::accumulate(kinds.begin(), kinds.end(), int64_t{0},
                           [](int64_t sum, const KindOfIteration& kind) { return sum + kind.iterations; });
}

double ServingFigures::per_second() const {
    return time_ns > 0 ? 1e9 * static_cast<double>(iterations()) / time_ns : 0;
}

const KindOfIteration* ServingFigures::of(const char* kind) const {
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const KindOfIteration& one) { return one.kind == kind; });
    return found == kinds.end() ? nullptr : &*found;
}

double ServingFigures::idle_share(std::string_view cause) const {
    const auto found =
        std::find_if(idle.begin(), idle.end(), [&](const auto& one) { return one.first == cause; });
    return found == idle.end() ? 0 : found->second;
}

const ServingFigures& serving_figures(const ReportSource& source) {
    if (!source.asked_serving)
        source.asked_serving = std::make_shared<const ServingFigures>(read_figures(source));
    return *source.asked_serving;
}

}  // namespace gpushim::analysis
