#include "analysis/text/escape.h"

#include <catch2/catch.hpp>

namespace escape_test {

using namespace gpushim::analysis;

TEST_CASE("a terminal gets letters, and nothing that acts", "[escape]") {
    CHECK(for_terminal("gemm<float>, 10 µs → 5") == "gemm<float>, 10 µs → 5");
    CHECK(for_terminal("\x1b[2J\r\n\x7f") == "\\x1b[2J\\x0d\\x0a\\x7f");
    CHECK(for_terminal("\xc2\x9b") == "\\xc2\\x9b");           // CSI as one character
    CHECK(for_terminal("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // turns the direction of writing
    CHECK(for_terminal("\xe2\x80\xa8") == "\\xe2\\x80\\xa8");  // ends a line
    CHECK(for_terminal("\xc0\xaf\xff\xe2\x82") == "\\xc0\\xaf\\xff\\xe2\\x82");  // no UTF-8
}

TEST_CASE("a spreadsheet gets no formula", "[escape]") {
    CHECK(for_csv("plain") == "plain");
    CHECK(for_csv("=cmd()") == "'=cmd()");
    CHECK(for_csv("@a") == "'@a");
    CHECK(for_csv("\n=a") == "\"'\n=a\"");
    CHECK(for_csv("a;b\tc") == "\"a;b\tc\"");  // where a spreadsheet parts cells at others than commas
    CHECK(for_csv("\x1b[2J\r\xff") == "\\x1b[2J\\x0d\\xff");
    CHECK(for_csv("a,\"b\"") == "\"a,\"\"b\"\"\"");
}

TEST_CASE("JSON stays JSON", "[escape]") {
    CHECK(for_json("a\"\\\n") == "\"a\\\"\\\\\\u000a\"");
    CHECK(for_json("\xc2\x9b\xe2\x80\xae\x7f") == "\"\\u009b\\u202e\\u007f\"");
    CHECK(for_json("\xc2\xb5 \xf0\x9f\x8e\x88") == "\"\xc2\xb5 \xf0\x9f\x8e\x88\"");
    CHECK(for_json("\xff") == "\"\\ufffd\"");
    CHECK(for_json("\xed\xa0\x80") == "\"\\ufffd\\ufffd\\ufffd\"");  // half a surrogate
    CHECK(hex(std::string("\0\xff", 2)) == "00ff");
}

TEST_CASE("XML stays XML", "[escape]") {
    CHECK(for_xml("<a b=\"c\">&'") == "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
    CHECK(for_xml("]]>\x1b\n\t\x01") == "]]&gt;\\x1b\n\t\\x01");
    CHECK(for_xml("\xef\xbf\xbf.\xef\xbf\xbe.\xff") == "\xef\xbf\xbd.\xef\xbf\xbd.\\xff");
}

}  // namespace escape_test
