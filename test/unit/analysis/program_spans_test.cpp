// What a program was in, with what other threads did in its operators.
#include "analysis/importer/program_spans.h"

#include <catch2/catch.hpp>

namespace program_spans_test {

using namespace gpushim::analysis;

namespace {

using Spans = std::vector<HostSpan>;
constexpr auto kFramework = HostInside::framework, kPython = HostInside::python,
               kAllocates = HostInside::allocates;
constexpr int64_t kProgram = 5;

struct Given {
    const Spans& all;
    template <class Take>
    void each(const Take& take) const {
        for (const HostSpan& span : all) take(span);
    }
};

Spans laid_out(const Spans& all) {
    Spans given;
    const Given spans{all};
    lay_out_program(kProgram, spans, [&](const HostSpan& span) { given.push_back(span); });
    return given;
}

}  // namespace

//  program     |ffffffffffffff|  |pppp|
//  another        |aaa|     |aaaaaaaa|     of which only that in the operator is the program's
TEST_CASE("a program in whose operator another thread allocates waits for that", "[host_spans]") {
    CHECK(laid_out({{2, 20, 30, kAllocates},
                    {2, 80, 120, kAllocates},
                    {kProgram, 0, 100, kFramework},
                    {kProgram, 110, 130, kPython}}) == Spans{{kProgram, 0, 20, kFramework},
                                                             {kProgram, 20, 30, kAllocates},
                                                             {kProgram, 30, 80, kFramework},
                                                             {kProgram, 80, 100, kAllocates},
                                                             {kProgram, 110, 130, kPython}});
}

TEST_CASE("what others do is a part of each of the program's operators that it lies in", "[host_spans]") {
    const Spans both = {{kProgram, 0, 20, kFramework},
                        {kProgram, 10, 30, kFramework},
                        {kProgram, 50, 70, kFramework},
                        {7, 25, 60, kAllocates}};
    CHECK(laid_out(both) == Spans{{kProgram, 0, 25, kFramework},
                                  {kProgram, 25, 30, kAllocates},
                                  {kProgram, 50, 60, kAllocates},
                                  {kProgram, 60, 70, kFramework}});
    // A thread that loads, or is in Python, does nothing for the program.
    CHECK(laid_out({{kProgram, 0, 20, kFramework}, {7, 0, 10, kPython}, {8, 0, 10, HostInside::input}}) ==
          Spans{{kProgram, 0, 20, kFramework}});
}

//  program   |fffffffffffffffffffffffff|     a millisecond, and another thread begins a part each 50 us
//  another   |f|f|f|f|f|f|f|f|f|f|f|f|f|
TEST_CASE("an operator that other threads run in many parts is dispatched in parts", "[host_spans]") {
    Spans spans;
    for (int64_t i = 0; i < 20; ++i) spans.push_back({2, 50'000 * i, 50'000 * i + 40'000, kFramework});
    spans.push_back({kProgram, 0, 1'000'000, kFramework});
    const Spans parts = laid_out(spans);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].end_ns == parts[1].start_ns);
    CHECK((parts[0].start_ns == 0 && parts[1].end_ns == 1'000'000));
    CHECK(laid_out({spans.back()}).size() == 1);
}

TEST_CASE("of more parts than there is room for none counts", "[host_spans]") {
    constexpr int64_t kMost = 1'000'000;
    const auto allocations = [](int64_t parts) {
        int64_t count = 0;
        ProgramSpans program(kProgram,
                             [&](const HostSpan& span) { count += span.inside == kAllocates ? 1 : 0; });
        const HostSpan whole = {kProgram, 0, 10 * kMost + 10, kFramework};
        program.find_operators(whole);
        for (int64_t i = 0; i < parts; ++i) program.find_parts({2, 10 * i, 10 * i + 5, kAllocates});
        program.lay_out(whole);
        program.finish();
        return count;
    };
    CHECK(allocations(kMost) == kMost);
    CHECK(allocations(kMost + 1) == 0);
}

}  // namespace program_spans_test
