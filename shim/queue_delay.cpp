#include "queue_delay.h"

#include <algorithm>
#include <bit>
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
        return delay_ns < top_slack_ns;
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
    if (knee.find(delay_ns)) {
        kind.delay = {true, delay_ns - kClearNs, delay_ns, delay_ns + kClearNs};
        return true;
    }
    const int64_t bound_ns = knee.bound();
    if (bound_ns != 0 && (kind.delay.high_ns == 0 || bound_ns < kind.delay.high_ns))
        kind.delay.high_ns = bound_ns;
    if (bound_ns == 0 && knee.top_slack_ns < kSurelyQueuedNs) kind.is_starved = true;
    return false;
}

void QueueDelay::settle(Kind& kind, Shape& shape) {
    const std::vector<Seen> all = all_of(shape);
    if (!bring_delay(kind, all)) return;
    std::vector<int64_t> queued;
    for (const Seen& one : all)
        if (one.slack_ns >= kind.delay.high_ns) queued.push_back(one.span_ns);
    if (queued.empty()) return;
    shape.duration = spread_of(queued);
    const int64_t half_ns = (shape.duration.high_ns - shape.duration.low_ns) / 2;
    add_samples(kind, shape, queued.size() > 1 ? half_ns : tolerance(shape.duration.ns));
    // One alone says nothing of how far they are apart.
    shape.duration.is_known = queued.size() > 1;
}

// Of those that began on an empty queue, once each.
void QueueDelay::add_samples(Kind& kind, Shape& shape, int64_t noise_ns) {
    for (auto& bucket : shape.seen)
        for (Seen& one : bucket) {
            if (!std::exchange(one.is_new, false) || one.slack_ns > kind.delay.low_ns - kClearNs) continue;
            const int64_t delay_ns = one.slack_ns + one.span_ns - shape.duration.ns;
            const Sample sample = {delay_ns, delay_ns + one.in_call_ns, noise_ns};
            if (kind.samples.size() < kMostSamples)
                kind.samples.push_back(sample);
            else
                kind.samples[kind.next++ % kMostSamples] = sample;
        }
}

// From the shapes whose durations are the steadiest.
void QueueDelay::settle(Kind& kind) {
    if (kind.samples.size() < kEnoughSamples) return;
    int64_t noise_ns = INT64_MAX;
    for (const Sample& one : kind.samples) noise_ns = std::min(noise_ns, one.noise_ns);
    std::vector<int64_t> delays, from_enter;
    for (const Sample& one : kind.samples) {
        if (one.noise_ns > std::max(kClearNs, 2 * noise_ns)) continue;
        delays.push_back(one.delay_ns);
        from_enter.push_back(one.from_enter_ns);
    }
    const auto widened = [&](Spread spread) {
        return Spread{true, spread.low_ns - noise_ns / 2, spread.ns, spread.high_ns + noise_ns / 2};
    };
    kind.delay = widened(spread_of(delays));
    kind.from_enter = widened(spread_of(from_enter));
    kind.is_starved = false;
}

Spread QueueDelay::delay(Operation kind) const { return usual(kind, kNull).delay; }

Usual QueueDelay::usual(Operation kind, int64_t alike) const {
    Usual usual = {};
    const Kind* from = &kinds_[static_cast<size_t>(kind)];
    int64_t off_ns = 0;
    for (const Kind& other : kinds_) {
        if (from->from_enter.is_known || !other.from_enter.is_known) continue;
        from = &other;
        off_ns = kBetweenKindsNs;
    }
    const auto widened = [&](Spread spread) {
        if (!spread.is_known) return spread;
        return Spread{true, spread.low_ns - off_ns, spread.ns, spread.high_ns + off_ns};
    };
    usual.delay = widened(from->delay);
    usual.from_enter = widened(from->from_enter);
    const auto shape = shapes_.find({alike, kind});
    if (shape != shapes_.end()) usual.duration = shape->second.duration;
    return usual;
}

bool QueueDelay::wants_queued() const {
    return std::ranges::any_of(kinds_, [](const Kind& kind) { return kind.is_starved; });
}

}  // namespace gpushim::shim
