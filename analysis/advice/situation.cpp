#include "situation.h"

#include "../run/sql/python_places.h"

namespace gpushim::analysis {

Situation::Situation(sqlite3* run, CountedSteps basis, const Given& given)
    : run_(run),
      given_(given),
      basis_(std::move(basis)),
      what_if_(basis_),
      ecosystem_(ecosystem_of(run)),
      serving_(run) {
    gpus_ = number("SELECT count(DISTINCT coalesce(uuid, CAST(gpu_id AS TEXT))) FROM gpu").value_or(0);
    ranks_ = number("SELECT count(*) FROM rank").value_or(0);
    run_ns_ = real("SELECT max(run_ns) FROM gpu").value_or(0);
    all_steps_ = real("SELECT max(whole_steps) FROM v_run_steps").value_or(0);
}

std::optional<double> Situation::real(std::string_view sql) const {
    Query row = ask(sql);
    if (!row.step() || row.is_null(0)) return {};
    return row.real(0);
}

std::optional<int64_t> Situation::number(std::string_view sql) const {
    Query row = ask(sql);
    return row.step() ? row.maybe(0) : std::nullopt;
}

std::optional<double> Situation::metric(std::string_view name) const {
    Query row = ask("SELECT max(value) FROM metric WHERE name = ?1");
    row.bind(1, std::string(name));
    if (!row.step() || row.is_null(0)) return {};
    return row.real(0);
}

std::vector<Evidence> Situation::rows(const char* table, std::string_view sql) const {
    std::vector<Evidence> found;
    Query row = ask(sql);
    while (row.step()) found.push_back({table, row.number(0)});
    return found;
}

double Situation::counted(double whole_run) const {
    if (has_steps()) return all_steps_ > 0 ? whole_run / all_steps_ : 0;
    return run_ns_ > 0 ? whole_run * 1e9 / run_ns_ : 0;
}

bool Situation::reads_every_step() const {
    const auto count = real("SELECT max(count * 1.0) FROM transfer_pattern WHERE pattern = 'small_d2h_sync'");
    return count && counted(*count) >= 0.5;
}

std::map<int64_t, double> Situation::only_copies_ns() const {
    std::map<int64_t, double> by_gpu;
    for (const GpuTotal& total : basis_.totals())
        by_gpu[total.gpu_id] = total.real(WhatRan::only_copy) / total.real(WhatRan::window) * step_ns();
    return by_gpu;
}

std::string Situation::seen_in(Causes causes) const {
    constexpr int64_t kFewest = 3;
    const auto places = python_places(run_, &causes, 1);
    if (places.empty() || places[0].samples < kFewest) return {};
    return "by " + places[0].count_text() + " in " + places[0].name();
}

std::vector<Evidence> Situation::gaps_of(Causes causes) const {
    std::vector<Evidence> found;
    for (const int64_t rowid : basis_.largest_gaps(causes)) found.push_back({"gap", rowid});
    return found;
}

}  // namespace gpushim::analysis
