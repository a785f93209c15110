// What a thread was inside of, laid out; and what names tell.
#include "analysis/importer/host_spans.h"

#include <catch2/catch.hpp>
#include <vector>

#include "analysis/importer/host_words.h"
#include "analysis/importer/open_operators.h"

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

std::optional<HostInside> told_inside(std::string_view name) { return told_by(name).inside; }

// Of names by number: an operator or a module on a thread.
ImportedRow within(ImportedOperator is, int32_t name, int64_t start_ns, int64_t end_ns,
                   int64_t sequence = kNotThere) {
    ImportedRow row;
    row.direction = static_cast<uint8_t>(is);
    row.name = name;
    row.enter_ns = start_ns;
    row.call_ns = end_ns - start_ns;
    row.number = sequence;
    return row;
}
constexpr auto kPlain = ImportedOperator::plain, kModule = ImportedOperator::module,
               kBackward = ImportedOperator::backward;

}  // namespace

//  thread 1   |── module 1 ──────────────────────────|
//               |─ op 2, number 7 ─|  |─ op 4, 8 ─|
//                 |─ op 3, 7 ─|
//  thread 2                                              |── backward 5, 7 ──|
//                                                          |─ op 6 ─|
TEST_CASE("a launch is the innermost operator's, and backward finds its forward", "[open_operators]") {
    OpenOperators open;
    open.open(1, within(kModule, 1, 0, 100));
    open.open(1, within(kPlain, 2, 10, 40, 7));
    open.open(1, within(kPlain, 3, 15, 30, 7));
    const auto inner = open.at(1, 20);
    CHECK((inner.name == 3 && inner.module == 1 && inner.pass == OpenOperators::forward));
    const auto outer = open.at(1, 35);
    CHECK((outer.name == 2 && outer.module == 1));
    open.open(1, within(kPlain, 4, 50, 60, 8));
    CHECK(open.at(1, 99).name == OpenOperators::kNone);  // in the module, in no operator
    CHECK(!open.at(1, 100).is_told());
    CHECK(!open.at(2, 20).is_told());  // another thread
    open.open(2, within(kBackward, 5, 200, 300, 7));
    open.open(2, within(kPlain, 6, 210, 220));
    const auto back = open.at(2, 215);
    CHECK((back.name == 6 && back.pass == OpenOperators::backward));
    CHECK((back.forward == 2 && back.module == 1));   // what the program called, not what is in it
    open.open(2, within(kBackward, 5, 400, 500, 9));  // nobody had that number
    CHECK(
        (open.at(2, 410).forward == OpenOperators::kNone && open.at(2, 410).pass == OpenOperators::backward));
}

TEST_CASE("the last operator with a number is meant, and none if two threads had it", "[open_operators]") {
    OpenOperators open;
    open.open(1, within(kPlain, 1, 0, 5, 7));  // needs no gradient: the number was not taken yet
    open.open(1, within(kPlain, 2, 10, 20, 7));
    open.open(3, within(kBackward, 9, 100, 200, 7));
    CHECK(open.at(3, 150).forward == 2);
    open.open(2, within(kPlain, 3, 30, 40, 7));
    CHECK(open.at(3, 150).forward == OpenOperators::kNone);
    CHECK(open.at(3, 150).pass == OpenOperators::backward);
    // Where inference has no numbers, the pass is not told.
    open.open(4, within(kPlain, 1, 0, 5));
    CHECK(open.at(4, 1).pass == OpenOperators::not_told);
}

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

//  framework            5|══|8
//  waits           2|═══════════|12
//  python     0|═════════════════════|20
//  allocates       2|════|5
//  framework    0|══════════════|10
TEST_CASE("of an operator the time in which it allocates is no work of its own", "[host_spans]") {
    CHECK(laid_out({{1, 0, 10, kFramework}, {1, 2, 5, HostInside::allocates}}) ==
          std::vector<HostSpan>{
              {1, 0, 2, kFramework}, {1, 2, 5, HostInside::allocates}, {1, 5, 10, kFramework}});
    CHECK(told_inside("Build buffer allocations") == HostInside::allocates);
    CHECK(told_inside("Build buffers") == std::nullopt);
    CHECK(told_inside("BufferSequencingEvent::Execute") == HostInside::waits);
}

TEST_CASE("waiting is more than Python, and less than an operator", "[host_spans]") {
    CHECK(laid_out({{1, 0, 20, kPython}, {1, 2, 12, HostInside::waits}, {1, 5, 8, kFramework}}) ==
          std::vector<HostSpan>{{1, 0, 2, kPython},
                                {1, 2, 5, HostInside::waits},
                                {1, 5, 8, kFramework},
                                {1, 8, 12, HostInside::waits},
                                {1, 12, 20, kPython}});
    CHECK(told_inside("$api.py:3105 block_until_ready") == HostInside::waits);
    CHECK(told_inside("$array.py:631 _value") == HostInside::waits);
    CHECK(told_inside("$array.py:631 __init__") == std::nullopt);
}

//  15 ms in 500 operators of 30 us; 15 ms in one operator, or in 75 of 200 us
TEST_CASE("an operator of many short ones is cut, one that works for long is whole", "[host_spans]") {
    const auto parts = [](int64_t operators, int64_t each_ns) {
        std::vector<HostSpan> spans = {{1, 0, 15'000'000, kFramework}};
        for (int64_t i = 0; i < operators; ++i)
            spans.push_back({1, i * each_ns, i * each_ns + each_ns / 2, kFramework});
        return laid_out(spans);
    };
    const std::vector<HostSpan> whole = {{1, 0, 15'000'000, kFramework}};
    CHECK(parts(0, 0) == whole);
    CHECK(parts(75, 200'000) == whole);
    const auto cut = parts(500, 30'000);
    REQUIRE(cut.size() > 20);
    for (size_t i = 0; i < cut.size(); ++i) {
        CHECK(cut[i].end_ns - cut[i].start_ns < 1'000'000);
        CHECK(cut[i].start_ns == (i == 0 ? 0 : cut[i - 1].end_ns));
    }
    CHECK(cut.back().end_ns == 15'000'000);
}

TEST_CASE("names of loaders and optimizers are known, others are not", "[host_spans]") {
    CHECK(told_inside("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == kInput);
    CHECK(told_inside("torch/utils/data/dataloader.py(628): __next__") == kInput);
    CHECK(told_inside("torch/utils/data/dataloader.py(628): __init__") == kInput);  // it starts the workers
    CHECK(told_inside("transformers/pipelines/video_classification.py(129): preprocess") == kInput);
    CHECK(told_inside("transformers/pipelines/video_classification.py(129): postprocess") == std::nullopt);
    CHECK(told_inside("torchvision/transforms/transforms.py(95): __call__") == kInput);
    CHECK(told_inside("Optimizer.step#AdamW.step") == kOptimizer);
    CHECK(told_inside("ProfilerStep#3") == std::nullopt);
    CHECK(told_inside("forward") == std::nullopt);
}

}  // namespace host_spans_test
