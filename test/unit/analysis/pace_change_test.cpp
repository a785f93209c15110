// Changes of a run that goes on: how soon one is told, that it stays known, and how often one is told that is
// none.
#include "analysis/live/pace_change.h"
#include "analysis/live/parts_course.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "repeats.h"

namespace pace_change_test {

using namespace gpushim::analysis;

namespace {

constexpr double kStepNs = 100e6;

// Steps with noise, of which a part stays for the next one; asked after each of them.
class Job {
  public:
    Job(uint64_t seed, double spread, double memory = 0) : random_(seed), spread_(spread), memory_(memory) {}

    void step(double times = 1) {
        noise_ = memory_ * noise_ + std::sqrt(1 - memory_ * memory_) * normal_(random_);
        const auto length_ns = static_cast<int64_t>(kStepNs * times * std::max(0.1, 1 + spread_ * noise_));
        changes_.add(now_ns_, length_ns);
        now_ns_ += length_ns;
    }
    void steps(int count, double times = 1) {
        for (int i = 0; i < count; ++i) step(times);
    }
    const std::optional<PaceChange>& newest() const { return changes_.newest(); }
    int64_t now_ns() const { return now_ns_; }

  private:
    std::mt19937_64 random_;
    std::normal_distribution<double> normal_;
    double spread_, memory_, noise_ = 0;
    int64_t now_ns_ = 0;
    PaceChanges changes_;
};

// Steps from a change to when it is told, with the right place and size; none: it is not, or is another.
std::optional<int> told_after(uint64_t seed, double by, int before = 500) {
    Job job(seed, 0.02);
    job.steps(before);
    const int64_t at_ns = job.now_ns();
    for (int after = 1; after <= 300; ++after) {
        job.step(1 + by);
        if (!job.newest()) continue;
        const PaceChange& change = *job.newest();
        const bool is_it = std::abs(static_cast<double>(change.at_ns - at_ns)) < 20 * kStepNs &&
                           std::abs(change.ratio() - by) < 0.02;
        return is_it ? std::optional(after) : std::nullopt;
    }
    return {};
}

int false_alarms(int jobs, int steps, double spread, double memory) {
    int wrong = 0;
    for (int seed = 1; seed <= jobs; ++seed) {
        Job job(static_cast<uint64_t>(seed), spread, memory);
        bool is_told = false;
        for (int i = 0; i < steps && !is_told; ++i) {
            job.step();
            is_told = job.newest().has_value();
        }
        wrong += is_told;
    }
    return wrong;
}

}  // namespace

TEST_CASE("a change of a run that goes on is told when there are enough steps behind it", "[top]") {
    for (const double by : {0.08, 0.18, 1.0, -0.15}) {
        INFO(by);
        for (uint64_t seed = 1; seed <= repeats<uint64_t>(10, 1); ++seed) {
            const auto after = told_after(seed, by);
            REQUIRE(after);
            CHECK(*after >= 70);
            CHECK(*after <= 120);
        }
    }
}

TEST_CASE("a change stays known when the steps before it are long gone", "[top]") {
    Job job(1, 0.02);
    job.steps(300);
    const int64_t at_ns = job.now_ns();
    job.steps(repeats(3000, 1200), 1.3);
    REQUIRE(job.newest());
    CHECK(std::abs(static_cast<double>(job.newest()->at_ns - at_ns)) < 10 * kStepNs);
    CHECK(job.newest()->ratio() == Approx(0.3).epsilon(0.05));
    job.steps(200);  // and back: that is a newer one
    CHECK(job.newest()->ratio() == Approx(1 / 1.3 - 1).epsilon(0.05));
}

TEST_CASE("steps that are slow for a while are no change for good, once they are over", "[top]") {
    Job job(2, 0.02);
    job.steps(400);
    job.steps(30, 2);
    job.steps(200);
    CHECK_FALSE(job.newest());
}

TEST_CASE("of short steps many make a piece", "[top]") {
    PaceChanges changes;
    int64_t at_ns = 0;
    for (int i = 0; i < 400'000; ++i) {
        const int64_t length_ns = i < 200'000 ? 100'000 : 120'000;
        changes.add(at_ns, length_ns);
        at_ns += length_ns;
    }
    REQUIRE(changes.newest());
    CHECK(changes.newest()->at_ns == Approx(20e9).epsilon(0.01));
    CHECK(changes.newest()->ratio() == Approx(0.2).epsilon(0.01));
}

TEST_CASE("steady runs have no change, however often they are asked", "[top]") {
    CHECK(false_alarms(repeats(3, 1), 3000, 0.02, 0) == 0);
    CHECK(false_alarms(repeats(3, 1), 3000, 0.05, 0.9) == 0);
}

TEST_CASE("parts are those of the windows before a change and since, also when the former are gone",
          "[top]") {
    PartsCourse course;
    RankNow rank;
    rank.gpus.emplace_back().device_id = 7;
    const auto window = [&](int64_t at_ns, int64_t copy_ns, int64_t length_ns = 1) {
        GpuParts parts;
        parts.whole_ns = 100;
        parts.copy_ns = copy_ns;
        course.add({at_ns, at_ns + length_ns}, {{7, parts}});
        course.add({at_ns, at_ns + length_ns}, {{7, parts}});  // read again
        course.put_around_change(rank);
    };
    window(5, 99);  // before an earlier change
    window(10, 3);
    window(20, 5);
    CHECK_FALSE(rank.gpus[0].parts_before);
    rank.change = PaceChange{10, 30, 1e6, 2e6};
    window(28, 4);
    window(29, 77, 2);  // the change lies in it
    REQUIRE(rank.gpus[0].parts_before);
    CHECK(rank.gpus[0].parts_before->copy_ns == 12);
    CHECK(rank.gpus[0].parts_before->whole_ns == 300);
    CHECK_FALSE(rank.gpus[0].parts_since);
    for (int64_t at_ns = 30; at_ns < 30 + 1000; ++at_ns) window(at_ns, 50);
    CHECK(rank.gpus[0].parts_before->copy_ns == 12);
    CHECK(rank.gpus[0].parts_since->whole_ns == 100 * static_cast<int64_t>(PartsCourse::kMostWindows));
    rank.change = PaceChange{10, 31, 1e6, 2e6};  // a newer one, whose former windows are gone
    window(2000, 50);
    CHECK_FALSE(rank.gpus[0].parts_before);
}

// Not part of `make test`, because it takes some minutes of a processor; what the README of live/ states
// comes from here: build/test/unit "[pace_full]".
TEST_CASE("of a thousand steady runs of 3,000 steps few are ever told a change", "[.][pace_full]") {
    const int steady = false_alarms(250, 3000, 0.02, 0), alike = false_alarms(250, 3000, 0.05, 0.9),
              sticky = false_alarms(250, 3000, 0.05, 0.97), wild = false_alarms(250, 3000, 0.3, 0);
    WARN(steady << ", " << alike << ", " << sticky << ", " << wild << " of 250 each");
    int most = 0, not_told = 0;
    for (uint64_t seed = 1; seed <= 250; ++seed)
        for (const double by : {0.08, 0.18, 1.0, -0.1}) {
            const auto after = told_after(seed, by);
            not_told += !after;
            most = std::max(most, after.value_or(0));
        }
    WARN(not_told << " of 1,000 changes were not told or wrongly, the others after " << most
                  << " steps at most");
    CHECK(steady + alike + sticky + wild <= 20);
}

}  // namespace pace_change_test
