#include "analysis/terminal/style.h"

#include <catch2/catch.hpp>

namespace style_test {

using namespace gpushim::analysis;

TEST_CASE("a line is styled by its first words", "[style]") {
    CHECK(styled_line("STEP       4.29 ms") == "\033[1mSTEP\033[0m       4.29 ms");
    CHECK(styled_line("WHAT TO DO (gain)") == "\033[1mWHAT TO DO\033[0m (gain)");
    CHECK(styled_line("IDLE") == "\033[1mIDLE\033[0m");
    CHECK(styled_line(" 1 Many small kernels: 4 %") == "\033[1;36m 1 Many small kernels\033[0m: 4 %");
    CHECK(styled_line("12 Large copies: 9 %") == "\033[1;36m12 Large copies\033[0m: 9 %");
    CHECK(styled_line("EVIDENCE 1 of 8 ranks") == "\033[33mEVIDENCE\033[0m 1 of 8 ranks");
    CHECK(styled_line("note  tracing") == "\033[33mnote\033[0m  tracing");
    CHECK(styled_line("MISSING a.db") == "\033[1;31mMISSING\033[0m a.db");
    CHECK(styled_line("SLOWER        step") == "\033[1;31mSLOWER\033[0m        step");
    CHECK(styled_line("EVIDENCE SIMULATED: these are not GPU times; 1 of 8 ranks") ==
          "\033[33mEVIDENCE\033[0m \033[33mSIMULATED: these are not GPU times\033[0m; 1 of 8 ranks");
}

TEST_CASE("all else stays as it is", "[style]") {
    for (const char* line : {"", "ran     python3", "  by name  ran", "           steps 0-98",
                             "   try fuse them", "A step", " 1", " 1 ", "  12 rows", "2023-11-14 x", "notes"})
        CHECK(styled_line(line) == std::string(line).c_str());
    CHECK(styled(Style::plain, "a") == "a");
    CHECK(styled(Style::trouble, "").empty());
}

}  // namespace style_test
