#include "queue_delay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "../base/rounding.h"

namespace gpushim::shim {
namespace {

constexpr size_t kMostShapes = 2048;
constexpr size_t kEnoughSamples = 3;
constexpr int64_t kClearNs = 300;  // a difference that is none of the clock's
// Of a kind that was never seen on both sides, another's delay is taken, and may be off by this.
constexpr int64_t kBetweenKindsNs = 2'000;
constexpr int64_t kBetweenShapesNs = 100;
constexpr int64_t kMostMarginNs = 3'000;  // further from δ it is taken for clear what was queued
constexpr double kFew = 8;                // of what was seen
constexpr double kOfMedian = 1.6;         // a median's error, of one value's
constexpr uint32_t kOldest = 64;          // times as many as are kept have gone by before one of them goes
constexpr double kClearlyLess = 0.8;      // of two explanations, the better one's misfit
constexpr double kLikely = 0.025;         // of both ends lie beyond a spread

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

Spread widened(const Spread& of_other_kind) {
    return {true, of_other_kind.low_ns - kBetweenKindsNs, of_other_kind.ns,
            of_other_kind.high_ns + kBetweenKindsNs};
}
bool overlap(const Spread& a, const Spread& b) { return a.low_ns <= b.high_ns && b.low_ns <= a.high_ns; }

double square(double value) { return value * value; }
double square(int64_t value) { return square(static_cast<double>(value)); }

int64_t root(double value) { return rounded_up(std::sqrt(std::max(0.0, value))); }

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

// Those kept of a bucket are from all of the time gone by; but of what is long ago, few.
void QueueDelay::learn(Operation kind, int64_t alike, const Observed& seen) {
    if (!seen.is_whole) return;
    if (shapes_.size() >= kMostShapes) shapes_.clear(), new_.clear();
    const Key key = {alike, kind};
    Shape& shape = shapes_[key];
    gap_ns_ = seen.gap_ns;
    const size_t bucket = bucket_of(seen.slack_ns);
    size_t place = shape.count[bucket]++;
    chance_ = chance_ * 6364136223846793005 + 1442695040888963407;
    if (place >= kInBucket) place = (chance_ >> 33) % std::min<size_t>(place + 1, kOldest * kInBucket);
    if (place < kInBucket) shape.seen[bucket][place] = {seen.slack_ns, seen.span_ns, seen.in_call_ns, batch_};
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
    ++batch_;
    if (new_.empty()) return;
    // Twice: what the first pass says of δ says which were queued.
    for (int pass = 0; pass < 2; ++pass) {
        for (const Key& key : new_) settle(kinds_[static_cast<size_t>(key.kind)], shapes_[key]);
        for (size_t kind = 0; kind < kOperations; ++kind) settle(static_cast<Operation>(kind));
    }
    for (const Key& key : new_) shapes_[key].is_new = false;
    new_.clear();
}

// A first idea of δ, where there is none that is sure. False: there still is none.
bool QueueDelay::bring_delay(Kind& kind, const std::vector<Seen>& seen) const {
    if (kind.delay.is_known && half_of(kind.delay) <= kSureDelayNs) return true;
    const Knee<Seen> knee(seen);
    int64_t delay_ns = 0;
    if (knee.find(delay_ns) || knee.find_beside_queued(delay_ns)) {
        kind.low_ns = delay_ns + gap_ns_ - kClearNs;
        kind.high_ns = delay_ns + gap_ns_ + kClearNs;
        kind.has_idea = true;
        return true;
    }
    if (kind.has_idea) return true;
    const int64_t bound_ns = knee.bound();
    if (bound_ns != 0 && (kind.delay.high_ns == 0 || bound_ns < kind.delay.high_ns))
        kind.delay.high_ns = bound_ns;
    if (bound_ns == 0 && knee.top_slack_ns < kSurelyQueuedNs) kind.is_starved = true;
    return false;
}

// How far most are from the median. Few say little of it, and those of one batch may be alike.
QueueDelay::Middle QueueDelay::middle_of(const std::vector<Seen>& seen, int64_t (*value_of)(const Seen&)) {
    std::vector<int64_t> values;
    std::vector<uint32_t> batches;
    for (const Seen& one : seen) {
        values.push_back(value_of(one));
        batches.push_back(one.batch);
    }
    std::sort(batches.begin(), batches.end());
    const auto end = std::unique(batches.begin(), batches.end());
    Middle middle = {};
    middle.batches = static_cast<double>(end - batches.begin());
    const Spread spread = spread_of(values);
    middle.ns = spread.ns;
    const int64_t half_ns = std::max(spread.high_ns - spread.ns, spread.ns - spread.low_ns);
    middle.half_ns = static_cast<double>(half_ns) * (1 + 2 / std::max(1.0, middle.batches));
    return middle;
}

// Those that began on an empty queue took δ and their duration, those that were queued the gap and the
// duration: so the medians show δ, and the spreads how much δ itself differs.
void QueueDelay::settle(Kind& kind, Shape& shape) const {
    const std::vector<Seen> all = all_of(shape);
    if (!bring_delay(kind, all)) return;
    std::vector<Seen> queued, empty;
    for (const Seen& one : all) {
        if (one.slack_ns >= kind.high_ns) queued.push_back(one);
        if (one.slack_ns < kind.low_ns - gap_ns_ - kClearNs) empty.push_back(one);
    }
    shape.shows = {};
    if (queued.empty()) return;
    Middle took = middle_of(queued, [](const Seen& one) { return one.span_ns; });
    took.ns -= gap_ns_;
    const Middle both = middle_of(empty, [](const Seen& one) { return one.slack_ns + one.span_ns; });
    const Middle from_enter =
        middle_of(empty, [](const Seen& one) { return one.slack_ns + one.span_ns + one.in_call_ns; });
    // Of few durations it is not known how far they are apart; not further than with δ.
    double half_ns = took.batches < kFew ? std::max(took.half_ns, both.half_ns) : took.half_ns;
    const auto count = static_cast<double>(all.size());
    if (count < kFew) half_ns = std::max(half_ns, static_cast<double>(tolerance(took.ns)) * 4 / count);
    const auto half = root(square(half_ns) * (1 + kOfMedian / took.batches));
    shape.duration = {queued.size() > 1, took.ns - half, took.ns, took.ns + half};
    if (empty.size() < kEnoughSamples) return;
    const double wide = square(std::max(half_ns, both.half_ns));
    const double known =
        took.batches > 1 ? std::max(0.0, 1 - kOfMedian * std::sqrt(2 / (took.batches - 1))) : 0;
    shape.shows = {true,
                   both.ns - took.ns,
                   from_enter.ns - took.ns,
                   kOfMedian * wide * (1 / took.batches + 1 / both.batches),
                   std::max(0.0, square(both.half_ns) - known * square(took.half_ns)),
                   std::max(0.0, square(from_enter.half_ns) - known * square(took.half_ns))};
}

// From the shapes that show it best, each by how well it does. Where they differ by more than they should, it
// is known less well.
void QueueDelay::settle(Operation operation) {
    Kind& kind = kinds_[static_cast<size_t>(operation)];
    double least = -1;
    for (const auto& [key, shape] : shapes_)
        if (key.kind == operation && shape.shows.is_known && (least < 0 || shape.shows.noise < least))
            least = shape.shows.noise;
    if (least < 0) return;
    const double most = std::max(square(kClearNs), 4 * least);
    double weights = 0, delay = 0, from_enter = 0, own = 0, own_from_enter = 0, squares = 0, shapes = 0;
    for (const auto& [key, shape] : shapes_) {
        const Shows& shows = shape.shows;
        if (key.kind != operation || !shows.is_known || shows.noise > most) continue;
        const double weight = 1 / (shows.noise + square(kBetweenShapesNs));
        weights += weight;
        delay += weight * static_cast<double>(shows.delay_ns);
        from_enter += weight * static_cast<double>(shows.from_enter_ns);
        squares += weight * square(shows.delay_ns);
        own += weight * shows.own;
        own_from_enter += weight * shows.own_from_enter;
        ++shapes;
    }
    const double mean = delay / weights;
    const double apart = shapes > 1 ? 4 * (squares - weights * square(mean)) / (shapes - 1) : 0;
    const double noise = std::max(1.0, apart) / weights - square(kBetweenShapesNs) / shapes;
    const auto spread = [&](double sum, double own_sum) {
        const int64_t ns = rounded(sum / weights);
        const int64_t half = root(own_sum / weights + std::max(0.0, noise));
        return Spread{true, ns - half, ns, ns + half};
    };
    kind.delay = spread(delay, own);
    kind.from_enter = spread(from_enter, own_from_enter);
    kind.is_starved = half_of(kind.delay) > kSureDelayNs;
    kind.has_idea = true;
    const int64_t margin_ns = std::clamp(half_of(kind.delay), kClearNs, kMostMarginNs);
    kind.low_ns = kind.delay.ns - margin_ns;
    kind.high_ns = kind.delay.ns + margin_ns;
}

bool QueueDelay::is_sure(Operation kind) const {
    const Spread known = delay(kind);
    const bool is_own = kinds_[static_cast<size_t>(kind)].delay.is_known;
    return known.is_known && half_of(known) <= kSureDelayNs + (is_own ? 0 : kBetweenKindsNs);
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
