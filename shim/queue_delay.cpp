#include "queue_delay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace gpushim::shim {
namespace {

constexpr size_t kMostShapes = 4096;
constexpr size_t kMostSamples = 256;
constexpr size_t kEnoughSamples = 3;
constexpr int64_t kClearNs = 300;  // a difference that is none of the clock's
// Of a kind that was never seen on both sides, another's delay is taken, and may be off by this.
constexpr int64_t kBetweenKindsNs = 2'000;
constexpr double kFew = 8;             // of what was seen
constexpr int64_t kSureNs = 1'000;     // about δ: more need not be learnt
constexpr double kClearlyLess = 0.75;  // of two explanations, the better one's misfit
constexpr double kLikely = 0.025;      // of both ends lie beyond a spread

int64_t part_of(std::vector<int64_t>& values, double share) {
    const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + static_cast<long>(at), values.end());
    return values[at];
}

int64_t median(std::vector<int64_t>& values) { return part_of(values, 0.5); }

Spread spread_of(std::vector<int64_t>& values) {
    if (values.empty()) return {};
    return {true, part_of(values, kLikely), median(values), part_of(values, 1 - kLikely)};
}

// 0: ready before the call returned; then by powers of two of a microsecond.
size_t bucket_of(int64_t slack_ns) {
    if (slack_ns < 0) return 0;
    return std::min<size_t>(9, 1 + std::bit_width(static_cast<uint64_t>(slack_ns) / 1000));
}

// How far durations of that length may be apart and still be called the same.
int64_t tolerance(int64_t duration_ns) { return std::max<int64_t>(500, duration_ns / 20); }

int64_t half_of(const Spread& spread) { return (spread.high_ns - spread.low_ns + 1) / 2; }

Spread widened(const Spread& of_other_kind) {
    return {true, of_other_kind.low_ns - kBetweenKindsNs, of_other_kind.ns,
            of_other_kind.high_ns + kBetweenKindsNs};
}
bool overlap(const Spread& a, const Spread& b) { return a.low_ns <= b.high_ns && b.low_ns <= a.high_ns; }

constexpr int64_t kNeverReady = INT64_MAX / 4;

// Where what was seen of one shape bends.
template <class Seen>
struct Knee {
    const std::vector<Seen>& seen;
    int64_t top_slack_ns = INT64_MIN;

    explicit Knee(const std::vector<Seen>& all) : seen(all) {
        for (const Seen& one : seen) top_slack_ns = std::max(top_slack_ns, one.slack_ns);
    }

    // How far all are from the best duration, if δ is that.
    double misfit(int64_t delay_ns) const {
        std::vector<int64_t> durations;
        for (const Seen& one : seen)
            durations.push_back(one.span_ns - std::max<int64_t>(0, delay_ns - one.slack_ns));
        const int64_t duration_ns = median(durations);
        double sum = 0;
        for (const int64_t ns : durations) sum += static_cast<double>(std::abs(ns - duration_ns));
        return sum;
    }

    int64_t best() const {
        int64_t best_ns = 0;
        double least = -1;
        for (int64_t ns = -5'000; ns <= kSurelyQueuedNs; ns += ns < 15'000 ? 250 : 1'000) {
            const double off = misfit(ns);
            if (least >= 0 && off >= least) continue;
            least = off;
            best_ns = ns;
        }
        return best_ns;
    }

    // False: the shape was not seen on both sides of it, or it cannot be told from chance.
    bool find(int64_t& delay_ns) const {
        if (seen.size() <= kEnoughSamples) return false;
        const int64_t about_ns = best();
        std::vector<int64_t> durations, sums;
        for (const Seen& one : seen) {
            if (one.slack_ns >= about_ns + kClearNs) durations.push_back(one.span_ns);
            if (one.slack_ns < about_ns - kClearNs) sums.push_back(one.slack_ns + one.span_ns);
        }
        if (durations.empty() || sums.size() < kEnoughSamples) return false;
        if (misfit(about_ns) > kClearlyLess * std::min(misfit(-kNeverReady), misfit(kNeverReady)))
            return false;
        delay_ns = median(sums) - median(durations);
        return true;
    }

    // Some were queued whatever δ is, and some others took longer.
    bool find_beside_queued(int64_t& delay_ns) const {
        std::vector<int64_t> durations, delays;
        for (const Seen& one : seen)
            if (one.slack_ns >= kSurelyQueuedNs) durations.push_back(one.span_ns);
        if (durations.size() < kEnoughSamples) return false;
        const Spread duration = spread_of(durations);
        for (const Seen& one : seen)
            if (one.slack_ns < kSurelyQueuedNs && one.span_ns > duration.high_ns + tolerance(duration.ns))
                delays.push_back(one.slack_ns + one.span_ns - duration.ns);
        if (delays.empty()) return false;
        delay_ns = median(delays);
        return delay_ns < kSurelyQueuedNs;
    }

    // Where slack makes no difference, all were queued: δ is at most the least of it. 0: not to be said.
    int64_t bound() const {
        std::vector<int64_t> spans;
        for (const Seen& one : seen) spans.push_back(one.span_ns);
        const int64_t duration_ns = median(spans);
        int64_t least_ns = INT64_MAX;
        for (const Seen& one : seen) {
            if (std::abs(one.span_ns - duration_ns) > tolerance(duration_ns)) return 0;
            least_ns = std::min(least_ns, one.slack_ns);
        }
        const bool is_told = seen.size() >= 8 && top_slack_ns - least_ns > 4 * tolerance(duration_ns);
        return is_told && least_ns > 0 && least_ns < kSurelyQueuedNs ? least_ns : 0;
    }
};

}  // namespace

void QueueDelay::learn(Operation kind, int64_t alike, const Observed& seen) {
    if (!seen.is_whole) return;
    if (shapes_.size() >= kMostShapes) shapes_.clear(), new_.clear();
    const Key key = {alike, kind};
    Shape& shape = shapes_[key];
    const size_t bucket = bucket_of(seen.slack_ns);
    shape.seen[bucket][shape.count[bucket]++ % kInBucket] = {seen.slack_ns, seen.span_ns, seen.in_call_ns,
                                                             true};
    if (!shape.is_new) new_.push_back(key);
    shape.is_new = true;
}

std::vector<QueueDelay::Seen> QueueDelay::all_of(const Shape& shape) {
    std::vector<Seen> all;
    for (size_t bucket = 0; bucket < kBuckets; ++bucket)
        all.insert(all.end(), shape.seen[bucket].begin(),
                   shape.seen[bucket].begin() + std::min<long>(kInBucket, shape.count[bucket]));
    return all;
}

void QueueDelay::settle() {
    // Twice: what the first pass says of δ says which were queued.
    for (int pass = 0; pass < 2; ++pass) {
        for (const Key& key : new_) settle(kinds_[static_cast<size_t>(key.kind)], shapes_[key]);
        for (Kind& kind : kinds_) settle(kind);
    }
    for (const Key& key : new_) shapes_[key].is_new = false;
    new_.clear();
}

// A first idea of δ, where there is none. False: there still is none.
bool QueueDelay::bring_delay(Kind& kind, const std::vector<Seen>& seen) {
    if (kind.delay.is_known) return true;
    const Knee<Seen> knee(seen);
    int64_t delay_ns = 0;
    if (knee.find(delay_ns) || knee.find_beside_queued(delay_ns)) {
        kind.delay = {true, delay_ns - kClearNs, delay_ns, delay_ns + kClearNs};
        return true;
    }
    const int64_t bound_ns = knee.bound();
    if (bound_ns != 0 && (kind.delay.high_ns == 0 || bound_ns < kind.delay.high_ns))
        kind.delay.high_ns = bound_ns;
    if (bound_ns == 0 && knee.top_slack_ns < kSurelyQueuedNs) kind.is_starved = true;
    return false;
}

// Those on an empty queue show by how much durations differ, too: δ is the same for all of them, or differs
// as well. Few say little of it, and neighbours are alike.
void QueueDelay::settle(Kind& kind, Shape& shape) {
    const std::vector<Seen> all = all_of(shape);
    if (!bring_delay(kind, all)) return;
    std::vector<int64_t> queued, sums;
    for (const Seen& one : all) {
        if (one.slack_ns >= kind.delay.high_ns) queued.push_back(one.span_ns);
        if (one.slack_ns < kind.delay.low_ns - kClearNs) sums.push_back(one.slack_ns + one.span_ns);
    }
    if (queued.empty()) return;
    const auto count = static_cast<double>(queued.size() + sums.size());
    const Spread of_queued = spread_of(queued);
    auto half_ns =
        static_cast<double>(std::max(half_of(of_queued), half_of(spread_of(sums)))) * (1 + 4 / count);
    if (count < kFew) half_ns = std::max(half_ns, static_cast<double>(tolerance(of_queued.ns)) * 4 / count);
    const auto half = static_cast<int64_t>(half_ns);
    shape.duration = {queued.size() > 1, of_queued.ns - half, of_queued.ns, of_queued.ns + half};
    const double independent = std::max(1.0, static_cast<double>(queued.size()) / 2);
    add_samples(kind, shape, half, static_cast<int64_t>(half_ns / std::sqrt(independent)));
}

// Of those that began on an empty queue, once each.
void QueueDelay::add_samples(Kind& kind, Shape& shape, int64_t half_ns, int64_t noise_ns) {
    for (auto& bucket : shape.seen)
        for (Seen& one : bucket) {
            if (!std::exchange(one.is_new, false) || one.slack_ns > kind.delay.low_ns - kClearNs) continue;
            const int64_t delay_ns = one.slack_ns + one.span_ns - shape.duration.ns;
            const Sample sample = {delay_ns, delay_ns + one.in_call_ns, half_ns, noise_ns};
            if (kind.samples.size() < kMostSamples)
                kind.samples.push_back(sample);
            else
                kind.samples[kind.next++ % kMostSamples] = sample;
        }
}

// From the shapes whose durations are the steadiest. By how much δ itself differs is what is left when their
// durations' part is taken away.
void QueueDelay::settle(Kind& kind) {
    if (kind.samples.size() < kEnoughSamples) return;
    int64_t least_ns = INT64_MAX;
    for (const Sample& one : kind.samples) least_ns = std::min(least_ns, one.noise_ns);
    std::vector<int64_t> delays, from_enter, halves, noises;
    for (const Sample& one : kind.samples) {
        if (one.noise_ns > std::max(kClearNs, 2 * least_ns)) continue;
        delays.push_back(one.delay_ns);
        from_enter.push_back(one.from_enter_ns);
        halves.push_back(one.half_ns);
        noises.push_back(one.noise_ns);
    }
    const auto durations = static_cast<double>(median(halves));
    const auto noise = static_cast<double>(median(noises));
    const auto without_durations = [&](std::vector<int64_t>& values) {
        const Spread all = spread_of(values);
        const auto wide = static_cast<double>(half_of(all));
        const double own = std::max(0.0, wide * wide - durations * durations);
        const double of_median = wide * wide / std::max(1.0, static_cast<double>(values.size()) / 8);
        const auto half = static_cast<int64_t>(std::ceil(std::sqrt(own + of_median + noise * noise)));
        return Spread{true, all.ns - half, all.ns, all.ns + half};
    };
    kind.delay = without_durations(delays);
    kind.from_enter = without_durations(from_enter);
    kind.is_starved = half_of(kind.delay) > kSureNs;
}

Spread QueueDelay::delay(Operation kind) const { return usual(kind, kNull).delay; }

Usual QueueDelay::usual(Operation kind, int64_t alike) const {
    Usual usual = {};
    const Kind& own = kinds_[static_cast<size_t>(kind)];
    usual.delay = own.delay;
    usual.from_enter = own.from_enter;
    for (const Kind& other : kinds_) {
        if (&other == &own || !other.from_enter.is_known) continue;
        const Spread delay = widened(other.delay);
        if (own.from_enter.is_known && half_of(own.delay) <= half_of(delay)) continue;
        if (own.from_enter.is_known && !overlap(own.delay, delay)) continue;
        usual.delay = delay;
        usual.from_enter = widened(other.from_enter);
        break;
    }
    const auto shape = shapes_.find({alike, kind});
    if (shape != shapes_.end()) usual.duration = shape->second.duration;
    return usual;
}

bool QueueDelay::wants_queued() const {
    return std::ranges::any_of(kinds_, [](const Kind& kind) { return kind.is_starved; });
}

}  // namespace gpushim::shim
