#include <catch2/catch.hpp>

#include "analysis/report/printed.h"

namespace as_markdown_test {

using namespace gpushim::analysis;
using Lines = std::vector<std::string>;

TEST_CASE("sections are bold, what goes on with them is a list", "[printed]") {
    Report report;
    report.line("events  12 produced = 12 recorded; unknown 0");
    report.line("STEP       1.15 ms median, 6.2 % ±0.1");
    report.line("           steps 1-119 (119; 2 left out)");
    report.line("");
    report.line("IDLE       never");
    CHECK(as_markdown(report) == Lines{"**events** 12 produced = 12 recorded; unknown 0", "",
                                       "**STEP** 1.15 ms median, 6.2 % ±0.1",
                                       "- steps 1-119 (119; 2 left out)", "", "**IDLE** never"});
}

TEST_CASE("tables are tables, and say what they leave out", "[printed]") {
    Report report;
    report.table("lr", {{"KERNELS", "ran"}, {"gemm", "1,000"}, {"void f<int>(x)", "2"}, {"c", "3"}}, 2);
    CHECK(as_markdown(report) == Lines{"| KERNELS | ran |", "| :-- | --: |", "| gemm | 1,000 |",
                                       "| `void f<int>(x)` | 2 |", "",
                                       "- … and 1 more: --json has them all"});
}

TEST_CASE("nothing in a name is markup", "[printed]") {
    const auto line = [](const std::string& text) {
        Report report;
        report.line("  " + text);
        return as_markdown(report).at(0);
    };
    CHECK(line("a <b> &lt; [x](y) *z* _u_ #1 @you") == "- a `<b>` `&lt;` `[x](y)` `*z*` `_u_` `#1` `@you`");
    CHECK(line("see www.x.example http://y.example:") == "- see `www.x.example` `http://y.example:`");
    CHECK(line("$x$ said: \\") == "- `$x$` said: `\\`");
    CHECK(line("1. - one") == "- `1.` - one");  // no list in the list
    CHECK(line("--- x") == "- `---` x");
    CHECK(line("a`b ``` c") == "- `` a`b `` ```` ``` ```` c");  // more ticks than inside
    CHECK(line("\x1b[2J") == "- `\\x1b[2J`");
    CHECK(line(std::string(5000, 'x')).size() < 500);

    Report report;
    report.table("l", {{"name"}, {"a|b `c` \n<d>"}, {""}}, 9);
    CHECK(as_markdown(report).at(2) == "| `` a\\|b `c` \\x0a<d> `` |");
    CHECK(as_markdown(report).at(3) == "|  |");
}

}  // namespace as_markdown_test
