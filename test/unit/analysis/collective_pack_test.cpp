// Packing and unpacking around collectives, by hand.
#include "analysis/collective/pack.h"

#include <catch2/catch.hpp>

namespace collective_pack_test {

using namespace gpushim::analysis;

namespace {

using Kind = StepOpKind;

std::string packed(const std::vector<StepOp>& ops) {
    const auto times = pack_times(ops);
    if (!times) return "none";
    return std::to_string(times->pack_ns) + " " + std::to_string(times->unpack_ns);
}

}  // namespace

//  compute   0██10                        50██55
//  copies          12▒20  21▒24
//  comm                       24░░30
//  copies                           31▒▒38 40▒41
TEST_CASE("what lies between backward, collective and optimizer", "[pack]") {
    CHECK(packed({{{0, 10}, Kind::works},
                  {{12, 20}, Kind::concatenates},
                  {{21, 24}, Kind::copies},
                  {{24, 30}, Kind::reduces},
                  {{31, 38}, Kind::splits},
                  {{40, 41}, Kind::copies},
                  {{50, 55}, Kind::optimizes}}) == "11 8");
}

//  copies    2▒4        a copy within the backward pass, and one behind the optimizer: neither
TEST_CASE("copies elsewhere in the step are not packing", "[pack]") {
    CHECK(packed({{{0, 2}, Kind::works},
                  {{2, 4}, Kind::copies},
                  {{4, 10}, Kind::works},
                  {{10, 20}, Kind::reduces},
                  {{20, 25}, Kind::optimizes},
                  {{25, 29}, Kind::copies}}) == "0 0");
}

//  two streams copy at the same time: 12 to 20, and 15 to 22
TEST_CASE("packing on two streams at once counts once", "[pack]") {
    CHECK(packed({{{0, 10}, Kind::works},
                  {{12, 20}, Kind::copies},
                  {{15, 22}, Kind::concatenates},
                  {{25, 30}, Kind::reduces}}) == "10 0");
}

//  compute   0██10
//  bucket 1       10▒12 [12░░20]      20▒25 split
//  bucket 2                    14▒18  copy       [26░░30]      30▒33 split, 33▒34 copy
TEST_CASE("between two collectives a split unpacks the first, a copy packs for the second", "[pack]") {
    CHECK(packed({{{0, 10}, Kind::works},
                  {{10, 12}, Kind::concatenates},
                  {{12, 20}, Kind::reduces},
                  {{14, 18}, Kind::copies},
                  {{20, 25}, Kind::splits},
                  {{26, 30}, Kind::reduces},
                  {{30, 33}, Kind::splits},
                  {{33, 34}, Kind::copies}}) == "6 9");
}

//  compute   0██████████████20       the pass goes on beside the first bucket: only what is behind 20
//  copies       5▒8       18▒▒22
//  comm            8░░15         23░░30
TEST_CASE("what is packed while the backward pass goes on is not told from it", "[pack]") {
    CHECK(packed({{{0, 20}, Kind::works},
                  {{5, 8}, Kind::concatenates},
                  {{8, 15}, Kind::reduces},
                  {{18, 22}, Kind::concatenates},
                  {{23, 30}, Kind::reduces}}) == "2 0");
}

// Work that is no optimizer ends unpacking, too: the collective was one within a pass.
TEST_CASE("unpacking ends where other work begins", "[pack]") {
    CHECK(packed({{{0, 10}, Kind::works},
                  {{10, 20}, Kind::reduces},
                  {{20, 22}, Kind::copies},
                  {{22, 30}, Kind::works},
                  {{30, 34}, Kind::copies},
                  {{40, 50}, Kind::optimizes}}) == "0 2");
}

// Sharded training: what the optimizer left is gathered behind it, and copied out.
TEST_CASE("what is gathered behind the optimizer is no exchange of gradients", "[pack]") {
    CHECK(packed({{{0, 10}, Kind::works},
                  {{10, 13}, Kind::concatenates},
                  {{13, 20}, Kind::reduces},
                  {{20, 30}, Kind::optimizes},
                  {{30, 32}, Kind::concatenates},
                  {{32, 40}, Kind::reduces},
                  {{40, 44}, Kind::splits}}) == "3 0");
}

TEST_CASE("nothing is packed where nothing is reduced", "[pack]") {
    CHECK(packed({}) == "none");
    CHECK(packed({{{0, 10}, Kind::works}, {{10, 20}, Kind::copies}, {{20, 30}, Kind::optimizes}}) == "none");
}

}  // namespace collective_pack_test
