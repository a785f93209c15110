#include "requests.h"

#include <algorithm>

#include "../interval/interval.h"

namespace gpushim::analysis {

namespace {

struct Done {  // an iteration of the rank
    int64_t begin_ns, end_ns;
    bool is_prefill;
    double idle_share;
};

// By begin; of several GPUs of the rank the mean.
constexpr const char* kIterations =
    "SELECT v.begin_ns, v.dur_ns, v.kind = 'prefill', avg(g.idle_ns * 1.0 / g.window_ns)"
    " FROM v_iteration v LEFT JOIN gpu u ON u.rank_id = v.rank_id"
    " LEFT JOIN v_gpu_counted g ON g.gpu_id = u.gpu_id AND g.step = v.step"
    " WHERE v.rank_id = ?1 GROUP BY v.step ORDER BY v.begin_ns";

// Warm-up, too: all that there were.
constexpr const char* kPrefills =
    "SELECT s.begin_ns FROM iteration i JOIN step s ON s.rank_id = i.rank_id AND s.step = i.step"
    " WHERE i.rank_id = ?1 AND i.kind = 'prefill' ORDER BY s.begin_ns";

std::vector<Done> iterations_of(const ReportSource& source, int64_t rank) {
    std::vector<Done> all;
    Query row = source.run.prepare(kIterations);
    row.bind(1, rank);
    while (row.step())
        all.push_back({row.number(0), row.number(0) + row.number(1), row.number(2) != 0,
                       row.is_null(3) ? 0 : row.real(3)});
    return all;
}

Percentiles percentiles_of(std::vector<int64_t> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const auto at = [&](size_t percent) { return values[(values.size() * percent + 99) / 100 - 1]; };
    return {at(50), at(95), at(99)};
}

void add_what_was_done(const std::vector<Done>& iterations, Request& request) {
    const int64_t end_ns = request.begin_ns + request.latency_ns;
    auto one = std::upper_bound(iterations.begin(), iterations.end(), request.begin_ns,
                                [](int64_t at_ns, const Done& done) { return at_ns < done.end_ns; });
    for (; one != iterations.end() && one->begin_ns < end_ns; ++one) {
        const auto inside_ns =
            static_cast<double>(std::min(end_ns, one->end_ns) - std::max(request.begin_ns, one->begin_ns));
        const double idle_ns = inside_ns * one->idle_share;
        request.idle_ns += idle_ns;
        (one->is_prefill ? request.prefills_ns : request.decodes_ns) += inside_ns - idle_ns;
    }
}

// Prompts are begun in the order in which they came, where there is one prefill for each request.
void add_queues(const ReportSource& source, int64_t rank, std::vector<Request>& requests, Requests& all) {
    std::vector<int64_t> prefills;
    Query row = source.run.prepare(kPrefills);
    row.bind(1, rank);
    while (row.step()) prefills.push_back(row.number(0));
    if (prefills.size() != requests.size()) {
        all.why_not_queued = "there is not one prefill for each request, so which is whose is not known";
        return;
    }
    for (size_t i = 0; i < requests.size(); ++i)
        requests[i].queued_ns = std::max<int64_t>(0, prefills[i] - requests[i].begin_ns);
}

// The time of the iterations that were asked for: requests that began in it are told of.
Interval asked_time(const ReportSource& source, int64_t rank) {
    if (!source.is_part_of_run()) return {INT64_MIN, INT64_MAX};
    Query row = source.of_steps(
        "SELECT min(begin_ns), max(begin_ns + dur_ns) FROM step WHERE rank_id = ?3 AND number BETWEEN ?1 AND "
        "?2");
    row.bind(3, rank);
    if (!row.step() || row.is_null(0)) return {};
    return {row.number(0), row.number(1)};
}

// In order of their begins; `open` ones have no latency.
struct Asked {
    std::vector<Request> ended;
    std::vector<int64_t> open_ns;  // their begins
};

Asked read_requests(const ReportSource& source, int64_t rank) {
    Asked all;
    Query row = source.run.prepare(
        "SELECT name, begin_ns, end_ns FROM request WHERE rank_id = ?1 ORDER BY begin_ns, request");
    row.bind(1, rank);
    while (row.step()) {
        if (row.is_null(2))
            all.open_ns.push_back(row.number(1));
        else
            all.ended.push_back({row.text(0), row.number(1), row.number(2) - row.number(1), {}, 0, 0, 0});
    }
    return all;
}

void add_rates(const std::vector<Request>& requests, Requests& all) {
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    std::vector<int64_t> latencies, queued;
    for (const Request& request : requests) {
        latencies.push_back(request.latency_ns);
        if (request.queued_ns) queued.push_back(*request.queued_ns);
        first_ns = std::min(first_ns, request.begin_ns);
        last_ns = std::max(last_ns, request.begin_ns + request.latency_ns);
    }
    if (last_ns > first_ns)
        all.per_second = 1e9 * static_cast<double>(all.ended) / static_cast<double>(last_ns - first_ns);
    all.latency = percentiles_of(std::move(latencies));
    all.queued = percentiles_of(std::move(queued));
}

}  // namespace

std::optional<Requests> requests_of(const ReportSource& source) {
    // Of a model on several ranks one tells; each has all.
    Query first = source.run.prepare("SELECT min(rank_id) FROM request");
    if (!first.step() || first.is_null(0)) return {};
    const int64_t rank = first.number(0);
    Requests all;
    auto [requests, open_ns] = read_requests(source, rank);
    if (!requests.empty()) add_queues(source, rank, requests, all);
    const Interval asked = asked_time(source, rank);
    const auto is_other = [&](int64_t begin_ns) {
        return begin_ns < asked.start_ns || begin_ns >= asked.end_ns;
    };
    std::erase_if(requests, [&](const Request& request) { return is_other(request.begin_ns); });
    std::erase_if(open_ns, is_other);
    all.open = static_cast<int64_t>(open_ns.size());
    all.ended = static_cast<int64_t>(requests.size());
    if (requests.empty()) return all;
    add_rates(requests, all);
    std::stable_sort(requests.begin(), requests.end(),
                     [](const Request& a, const Request& b) { return a.latency_ns > b.latency_ns; });
    requests.resize(std::min(requests.size(), Requests::kMostShown));
    const std::vector<Done> iterations = iterations_of(source, rank);
    for (Request& request : requests) add_what_was_done(iterations, request);
    all.slowest = std::move(requests);
    return all;
}

}  // namespace gpushim::analysis
