#include "source.h"

#include <algorithm>

#include "../kernel/short_name.h"
#include "../text/escape.h"
#include "../text/redact.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLongestName = 80;

Query value_of(const Database& run, const char* key) {
    Query query = run.prepare("SELECT value FROM run WHERE key = ?1");
    query.bind(1, std::string(key));
    return query;
}

}  // namespace

std::string shown(const std::string& name) { return shortened(for_terminal(name), kLongestName); }

std::string ReportSource::name(std::string_view kind, const std::string& text) const {
    return options.redact && !text.empty() ? hashed(kind, text) : shown(text);
}

std::string ReportSource::short_kernel_name(const std::string& name) const {
    return options.redact && !name.empty() ? hashed("kernel", name) : short_name(name);
}

std::string ReportSource::json_name(std::string_view kind, const std::string& text) const {
    return options.redact && !text.empty() ? hashed(kind, text) : text;
}

std::optional<int64_t> ReportSource::number(const char* key) const {
    Query query = value_of(run, key);
    return query.step() ? query.maybe(0) : std::nullopt;
}

std::optional<double> ReportSource::real(const char* key) const {
    Query query = value_of(run, key);
    return query.step() ? maybe_real(query, 0) : std::nullopt;
}

std::optional<std::string> ReportSource::text(const char* key) const {
    Query query = value_of(run, key);
    return query.step() && !query.is_null(0) ? std::optional(query.text(0)) : std::nullopt;
}

Query ReportSource::of_steps(std::string_view sql) const {
    Query query = run.prepare(sql);
    query.bind(1, first_step());
    query.bind(2, last_step());
    return query;
}

int64_t ReportSource::first_step() const {
    return std::max(options.from_step.value_or(-kFarthestStep), -kFarthestStep);
}

int64_t ReportSource::last_step() const {
    return std::min(options.to_step.value_or(kFarthestStep), kFarthestStep);
}

std::optional<double> maybe_real(const Query& query, int column) {
    return query.is_null(column) ? std::nullopt : std::optional(query.real(column));
}

}  // namespace gpushim::analysis
