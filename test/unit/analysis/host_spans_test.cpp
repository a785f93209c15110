// What a thread was inside of, laid out; and what names tell.
#include "analysis/importer/host_spans.h"

#include <catch2/catch.hpp>
#include <vector>

#include "analysis/importer/host_words.h"

namespace host_spans_test {

using namespace gpushim::analysis;

namespace {

constexpr auto kInput = HostInside::input, kOptimizer = HostInside::optimizer;
constexpr auto kFramework = HostInside::framework, kPython = HostInside::python;

std::vector<HostSpan> laid_out(const std::vector<HostSpan>& spans) {
    std::vector<HostSpan> given;
    HostSpans layout([&](const HostSpan& span) { given.push_back(span); });
    for (const HostSpan& span : spans) layout.add(span);
    layout.finish();
    return given;
}

}  // namespace

//  input          10|═════════|20
//  framework           13|══|16       25|═══|30
//  python    0|════════════════════════════════════|40
TEST_CASE("of spans in each other the most telling counts", "[host_spans]") {
    CHECK(laid_out(
              {{1, 0, 40, kPython}, {1, 10, 20, kInput}, {1, 13, 16, kFramework}, {1, 25, 30, kFramework}}) ==
          std::vector<HostSpan>{{1, 0, 10, kPython},
                                {1, 10, 20, kInput},
                                {1, 20, 25, kPython},
                                {1, 25, 30, kFramework},
                                {1, 30, 40, kPython}});
}

TEST_CASE("spans of a kind that touch or overlap are one", "[host_spans]") {
    CHECK(laid_out({{1, 0, 10, kFramework},
                    {1, 2, 4, kFramework},
                    {1, 8, 12, kFramework},
                    {1, 12, 15, kFramework}}) == std::vector<HostSpan>{{1, 0, 15, kFramework}});
    CHECK(laid_out({{1, 0, 10, kOptimizer}, {1, 5, 12, kFramework}}) ==
          std::vector<HostSpan>{{1, 0, 10, kOptimizer}, {1, 10, 12, kFramework}});
}

TEST_CASE("threads are laid out apart, also at times below 0", "[host_spans]") {
    CHECK(laid_out({{1, -20, -10, kPython}, {2, -30, 5, kFramework}, {2, 7, 7, kInput}}) ==
          std::vector<HostSpan>{{1, -20, -10, kPython}, {2, -30, 5, kFramework}});
    CHECK(laid_out({}).empty());
}

TEST_CASE("names of loaders and optimizers are known, others are not", "[host_spans]") {
    CHECK(inside_of("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == kInput);
    CHECK(inside_of("torch/utils/data/dataloader.py(628): __next__") == kInput);
    CHECK(inside_of("torch/utils/data/dataloader.py(628): __init__") == std::nullopt);
    CHECK(inside_of("Optimizer.step#AdamW.step") == kOptimizer);
    CHECK(inside_of("ProfilerStep#3") == std::nullopt);
    CHECK(inside_of("forward") == std::nullopt);
}

}  // namespace host_spans_test
