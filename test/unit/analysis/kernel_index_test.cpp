// Which kernel a call launched, whatever its number is.
#include "analysis/run/pass/kernel_index.h"

#include "made_facts.h"

#include <catch2/catch.hpp>

namespace kernel_index_test {

using namespace made;

TEST_CASE("kernels are found by a shape's number, small, large or strange", "[kernel_index]") {
    constexpr int64_t kLarge = 70'000, kHuge = int64_t{1} << 40;
    MadeFacts made;
    for (const char* name : {"a", "b", "c"}) made.facts.kernels.push_back({name, classify(name)});
    made.facts.shapes[3] = {1, 24, 32};
    made.facts.shapes[5] = {-1, 7, 32};  // its name is not recorded
    made.facts.shapes[kLarge] = {2, 9, 32};
    made.facts.shapes[kHuge] = {0, 11, 32};
    made.facts.shapes[-4] = {2, 13, 32};
    const KernelIndex index(made.facts);
    CHECK(index.not_known() == 3);
    const auto check = [&](int64_t shape, size_t expected, int64_t blocks) {
        const Call call = kernel(launch(0, 1, 2), shape);
        CHECK(index.of(call) == expected);
        CHECK(index.launched(call).kernel == expected);
        CHECK(index.launched(call).blocks == blocks);
    };
    check(3, 1, 24);
    check(5, index.not_known(), 7);
    check(kLarge, 2, 9);
    check(kHuge, 0, 11);
    check(-4, 2, 13);
    for (const int64_t none : {int64_t{0}, int64_t{4}, int64_t{6}, kLarge - 1, kLarge + 1, kHuge + 1,
                               kNotRecorded, INT64_MIN, INT64_MAX})
        check(none, index.not_known(), 0);
}

}  // namespace kernel_index_test
