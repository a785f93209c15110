#include "analysis/trace/losses.h"

#include <catch2/catch.hpp>

#include "made_trace.h"

namespace losses_test {

using namespace gpushim::analysis;

TEST_CASE("what was lost is summed up over rings, of each the newest count", "[losses]") {
    made::Made trace;
    trace.run(
        "INSERT INTO \"drop\" VALUES (1, 'full', 10, 3), (1, 'full', 20, 5), (2, 'full', 20, 2),"
        " (-1, 'size', 20, 7), (2, 'reader', 20, 0)");
    Losses losses{{"disk", 1}};
    add_losses(trace.inputs().traces[0].base, losses);
    CHECK(losses == Losses{{"disk", 1}, {"full", 7}, {"size", 7}});
}

TEST_CASE("each reason has a meaning", "[losses]") {
    for (const char* reason : {"full", "no_ring", "writer_down", "reader", "disk", "size"})
        CHECK(loss_text(reason, 2).find("does not know") == std::string::npos);
    CHECK(loss_text("writer_down", 1).starts_with("1 event was lost (writer_down): the writer had ended"));
    CHECK(loss_text("of tomorrow", 2) ==
          "2 events were lost (of tomorrow): for a reason that this version of gpushim does not know");
}

}  // namespace losses_test
