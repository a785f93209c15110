#include "advise.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "../text/json.h"
#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

std::vector<Rule>& registered() {
    static std::vector<Rule> rules;
    return rules;
}

bool is_worth_saying(const Finding& finding, double step_ns) {
    return finding.kind != Kind::kGain || finding.gain.high_ns >= kWorthIt * step_ns;
}

bool asks_of(const Rule& rule, const Situation& situation) {
    return rule.programs == Programs::any ||
           (rule.programs == Programs::serving) == situation.serving().is_so();
}

// No change saves more than a step, though sums of what overlaps, or a median beside a mean, may say so.
void keep_within(Finding& finding, double step_ns) {
    if (finding.kind != Kind::kGain || step_ns <= 0) return;
    finding.gain = {std::min(finding.gain.low_ns, step_ns), std::min(finding.gain.high_ns, step_ns)};
}

double mean_of(const Finding& finding) { return (finding.gain.low_ns + finding.gain.high_ns) / 2; }

// What the most of all save, of gains.
double most_of(const std::vector<Advice>& advice) {
    double most_ns = 0;
    for (const Advice& one : advice)
        if (one.finding.kind == Kind::kGain) most_ns = std::max(most_ns, mean_of(one.finding));
    return most_ns;
}

// Where another finding alone is most of what it would save, that says why; where several together are, what
// they have in common does.
bool comes_behind(const Advice& one, const std::vector<Advice>& advice) {
    return one.finding.yields && std::any_of(advice.begin(), advice.end(), [&](const Advice& other) {
               return other.finding.kind == Kind::kGain && !other.finding.yields &&
                      other.rule->scope == one.rule->scope &&
                      mean_of(other.finding) >= kMostOf * mean_of(one.finding);
           });
}

const char* word_of(Kind kind) {
    return kind == Kind::kGain ? "gain" : kind == Kind::kNoGain ? "no_gain" : "note";
}

std::string text_of(const std::vector<Evidence>& evidence) {
    Json list = Json::array();
    for (const Evidence& row : evidence)
        list.push(Json::object({{"table", row.table}, {"rowid", row.rowid}}));
    return list.text();
}

}  // namespace

RuleRegistration::RuleRegistration(const Rule& rule) { registered().push_back(rule); }

std::vector<const Rule*> all_rules() {
    std::vector<const Rule*> rules;
    for (const Rule& rule : registered()) rules.push_back(&rule);
    std::sort(rules.begin(), rules.end(),
              [](const Rule* a, const Rule* b) { return std::string_view(a->id) < b->id; });
    return rules;
}

std::vector<Advice> advise(const Situation& situation) {
    std::vector<Advice> advice;
    for (const Rule* rule : all_rules()) {
        if (!asks_of(*rule, situation)) continue;
        std::optional<Finding> found = rule->look(situation);
        if (!found || !is_worth_saying(*found, situation.step_ns())) continue;
        // Gains are of what was timed.
        if (situation.unlike() && found->kind != Kind::kNote) continue;
        keep_within(*found, situation.step_ns());
        Advice& one = advice.emplace_back(Advice{rule, std::move(*found)});
        one.finding.change = in_words_of(situation.ecosystem(), one.heading().change);
    }
    const double most_ns = most_of(advice);
    std::set<const Rule*> behind;
    for (const Advice& one : advice)
        if (comes_behind(one, advice)) behind.insert(one.rule);
    std::stable_sort(advice.begin(), advice.end(), [&](const Advice& a, const Advice& b) {
        const auto key = [&](const Advice& one) {
            const double mean_ns = mean_of(one.finding);
            const bool is_minor = mean_ns < kMinor * most_ns;
            const int place = one.finding.fills_step ? 0 : is_minor ? 2 : 1;
            return std::tuple(one.finding.kind, place, is_minor ? Scope::kInput : one.rule->scope,
                              !is_minor && behind.contains(one.rule), -mean_ns);
        };
        return key(a) < key(b);
    });
    return advice;
}

void write_findings(sqlite3* run, CountedSteps basis) {
    const Situation situation(run, std::make_shared<const CountedSteps>(std::move(basis)));
    int64_t place = 0;
    for (const auto& [rule, finding] : advise(situation)) {
        Query row = situation.ask("INSERT INTO finding VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
        row.bind(1, ++place);
        row.bind(2, std::string(rule->id));
        row.bind(3, std::string(word_of(finding.kind)));
        row.bind(4, finding.text());
        row.bind(5, to_int64(finding.gain.low_ns));
        row.bind(6, to_int64(finding.gain.high_ns));
        row.bind(7, finding.confidence);
        row.bind(8, text_of(finding.evidence));
        row.bind(9, finding.try_it);
        row.step();
    }
}

}  // namespace gpushim::analysis
