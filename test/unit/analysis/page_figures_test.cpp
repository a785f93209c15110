#include "analysis/page/figures.h"

#include <catch2/catch.hpp>

namespace page_figures_test {

using gpushim::analysis::Json;
using gpushim::analysis::why_of;

TEST_CASE("why a figure is not there is said without the names of others", "[page]") {
    const Json skew = Json::object({{"straggler", nullptr},
                                    {"lost_ns", nullptr},
                                    {"of_collectives", nullptr},
                                    {"why",
                                     "lost_ns, straggler: none was seen: not on several ranks; of two runs; "
                                     "of_collectives: all were compared"}});
    CHECK(why_of(skew, "straggler") == "none was seen: not on several ranks; of two runs");
    CHECK(why_of(skew, "of_collectives") == "all were compared");
    CHECK(why_of(skew, "lost") == skew["why"].words());
}

TEST_CASE("where all figures are missing for one reason, that is said", "[page]") {
    CHECK(why_of(Json::object({{"mfu", nullptr}, {"why", "the peak is not known: --peak"}}), "mfu") ==
          "the peak is not known: --peak");
    CHECK(why_of(Json::object({{"mfu", nullptr}}), "mfu") == "the run does not have it");
}

}  // namespace page_figures_test
