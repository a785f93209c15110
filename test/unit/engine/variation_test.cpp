#include "engine/variation.h"

#include <cmath>
#include <vector>

#include "box.h"

namespace variation_test {

using namespace gpusim;

namespace {

constexpr Ns kNominal = 1'000'000;

std::vector<double> factors(int device, size_t count) {
    std::vector<double> result;
    for (size_t i = 0; i < count; ++i)
        result.push_back(static_cast<double>(vary_kernel(kNominal, device)) / kNominal);
    return result;
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(values.size());
}

double correlation_with_next(const std::vector<double>& values) {
    const double middle = mean(values);
    double variance = 0, covariance = 0;
    for (size_t i = 0; i + 1 < values.size(); ++i) {
        variance += (values[i] - middle) * (values[i] - middle);
        covariance += (values[i] - middle) * (values[i + 1] - middle);
    }
    return covariance / variance;
}

}  // namespace

TEST_CASE("without jitter durations are what they are", "[variation]") {
    CHECK(vary_kernel(12'345, 0) == 12'345);
    CHECK(vary_copy(12'345, 0) == 12'345);
}

TEST_CASE("jitter varies by its share, around one, one operation like the one before", "[variation]") {
    ::box::knobs("GPUSIM_JITTER=0.05 GPUSIM_SEED=3");
    const auto seen = factors(0, 20'000);
    CHECK(mean(seen) == Approx(1.0).margin(0.01));
    double squares = 0;
    for (const double f : seen) squares += (f - 1) * (f - 1);
    CHECK(std::sqrt(squares / 20'000) == Approx(0.05).margin(0.01));
    CHECK(correlation_with_next(seen) == Approx(0.9).margin(0.05));
}

// What seed, rank and device give is the same on every machine: these are figures of one run.
TEST_CASE("jitter follows from the seed", "[variation]") {
    ::box::knobs("GPUSIM_JITTER=0.05 GPUSIM_SEED=1");
    CHECK(vary_kernel(kNominal, 0) == 1'020'104);
    CHECK(vary_kernel(kNominal, 0) == 1'025'048);
    CHECK(vary_kernel(kNominal, 1) == 991'264);
}

TEST_CASE("jitter follows from another seed", "[variation]") {
    ::box::knobs("GPUSIM_JITTER=0.05 GPUSIM_SEED=2");
    CHECK(vary_kernel(kNominal, 0) == 982'054);
}

TEST_CASE("jitter follows from the rank", "[variation]") {
    ::box::knobs("GPUSIM_JITTER=0.05 GPUSIM_SEED=1 RANK=3");
    CHECK(vary_kernel(kNominal, 0) == 1'019'219);
    CHECK(vary_copy(kNominal, 0) == 1'039'571);
}

TEST_CASE("the slow rank's kernels take longer, its copies do not", "[variation]") {
    ::box::knobs("GPUSIM_SLOW=1:1.5 RANK=1");
    CHECK(vary_kernel(kNominal, 0) == 1'500'000);
    CHECK(vary_copy(kNominal, 0) == kNominal);
}

TEST_CASE("another rank than the slow one is as ever", "[variation]") {
    ::box::knobs("GPUSIM_SLOW=1:1.5 RANK=0");
    CHECK(vary_kernel(kNominal, 1) == kNominal);
}

TEST_CASE("without a launcher each device is a rank", "[variation]") {
    ::box::knobs("GPUSIM_SLOW=1:1.5 GPUSIM_DEVICES=2");
    CHECK(vary_kernel(kNominal, 0) == kNominal);
    CHECK(vary_kernel(kNominal, 1) == 1'500'000);
}

}  // namespace variation_test
