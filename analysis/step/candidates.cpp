#include "candidates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace gpushim::analysis {

namespace {

constexpr int64_t kFewest = 4;  // less often says nothing about a period

bool is_better(const Candidate& a, const Candidate& b) {
    const auto order = [](const Candidate& c) {
        return std::tuple(-c.preference(), c.exactness(), c.variation(), c.first_ns, c.key);
    };
    return order(a) < order(b);
}

void update(Candidate& candidate, int64_t at_ns, int64_t index) {
    const int64_t spacing = index - candidate.last_index;
    if (++candidate.count == 1) {
        candidate.first_ns = at_ns;
    } else {
        if (candidate.count > 2 && std::abs(spacing - candidate.spacing) * 10 <= candidate.spacing)
            ++candidate.steady;
        const auto apart = static_cast<double>(at_ns - candidate.last_ns);
        const double off = apart - candidate.mean_ns;
        candidate.mean_ns += off / static_cast<double>(candidate.count - 1);
        candidate.squares += off * (apart - candidate.mean_ns);
        candidate.spacing = spacing;
    }
    candidate.last_ns = at_ns;
    candidate.last_index = index;
}

}  // namespace

int Candidate::preference() const {
    if (is_copy) return 2;
    return after_syncs + 1 >= count ? 1 : 0;  // the first may have followed none
}

int Candidate::exactness() const {
    if (kind == KeyKind::pair) return 2;
    return kind == KeyKind::exact || kind == KeyKind::name ? 0 : 1;
}

double Candidate::variation() const {
    if (count < 3 || mean_ns <= 0) return HUGE_VAL;
    return std::sqrt(squares / static_cast<double>(count - 2)) / mean_ns;
}

double Candidate::steady_share() const {
    return count < 3 ? 0 : static_cast<double>(steady) / static_cast<double>(count - 2);
}

void Candidates::add(const Token& token, const KeySet& keys) {
    for (size_t kind = 0; kind < kKeyKinds; ++kind)
        if (keys.key[kind] != 0) note(token, keys, static_cast<KeyKind>(kind));
    ++index_;
}

void Candidates::note(const Token& token, const KeySet& keys, KeyKind kind) {
    const uint64_t key = keys.key[static_cast<size_t>(kind)];
    if (table_.size() >= kMost && !table_.contains(key)) drop_rarest();
    Candidate& candidate = table_[key];
    candidate.key = key;
    candidate.kind = kind;
    candidate.hash = token.hash;  // the first may follow a sync by chance, the last hardly
    candidate.is_copy = token.kind == TokenKind::copy_h2d && kind != KeyKind::after_sync;
    candidate.after_syncs += keys.key[static_cast<size_t>(KeyKind::after_sync)] != 0;
    update(candidate, token.at_ns, index_);
}

// Half of them, so that this is rare. A key's own bits break ties: they are the same in every step, so a step
// of more keys than there is room for keeps the same ones each time.
void Candidates::drop_rarest() {
    has_dropped_ = true;
    std::vector<std::pair<int64_t, uint64_t>> order;
    for (const auto& [key, candidate] : table_) order.emplace_back(candidate.count, key);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    std::nth_element(order.begin(), middle, order.end());
    for (auto it = order.begin(); it != middle; ++it) table_.erase(it->second);
}

std::vector<Candidate> Candidates::best(size_t most) const {
    std::map<int64_t, Candidate> by_count;
    for (const auto& [key, candidate] : table_) {
        if (candidate.count < kFewest) continue;
        const auto [it, is_new] = by_count.try_emplace(candidate.count, candidate);
        if (!is_new && is_better(candidate, it->second)) it->second = candidate;
    }
    std::vector<Candidate> result;
    for (const auto& [count, candidate] : by_count) result.push_back(candidate);
    std::sort(result.begin(), result.end(), [](const Candidate& a, const Candidate& b) {
        return std::tuple(a.preference() > 0, a.steady_share(), a.count, a.key) >
               std::tuple(b.preference() > 0, b.steady_share(), b.count, b.key);
    });
    if (result.size() > most) result.resize(most);
    return result;
}

}  // namespace gpushim::analysis
