// Values of JSON, stepped through: escapes, what is cut off, what is no JSON, and pieces of any size.
#include "analysis/importer/kineto/json_scanner.h"

#include <catch2/catch.hpp>
#include <random>

namespace json_scanner_test {

using namespace gpushim::analysis;

namespace {

std::string text_of(const std::string& json) {
    JsonScanner scanner(json);
    std::string_view value;
    CHECK(scanner.text(value));
    CHECK(scanner.used() == json.size());
    return std::string(value);
}

}  // namespace

TEST_CASE("escapes of strings", "[json_scanner]") {
    CHECK(text_of(R"("plain, {with} [brackets]")") == "plain, {with} [brackets]");
    CHECK(text_of(R"("a\"b\\c\/d\n\t\r\b\f")") == "a\"b\\c/d\n\t\r\b\f");
    CHECK(text_of(R"("\u0041\u00b5\u20AC\ud83d\ude00")") == "A\xC2\xB5\xE2\x82\xAC\xF0\x9F\x98\x80");
    CHECK(text_of(R"("\ud83d \ude00")") == "\xEF\xBF\xBD \xEF\xBF\xBD");  // halves of pairs
    CHECK(text_of(R"("C:\Users\u12x")") == "C:Usersu12x");                // unknown ones stand for themselves
    CHECK(text_of("\"line\nbreak\xff\"") == "line\nbreak\xff");
    CHECK(text_of(R"("")").empty());
}

// Texts are searched a dozen bytes at once, from any place on.
TEST_CASE("a text ends at its quote, wherever that is", "[json_scanner]") {
    for (size_t length = 0; length < 70; ++length) {
        const std::string plain(length, 'a');
        INFO(length);
        CHECK(text_of('"' + plain + '"') == plain);
        for (size_t place = 0; place < length; ++place) {
            const std::string before = plain.substr(0, place), behind = plain.substr(place);
            CHECK(text_of('"' + before + R"(\")" + behind + '"') == before + '"' + behind);
            const std::string two = '"' + before + R"(" : ")" + behind + R"(")";
            JsonScanner one(two);
            std::string_view value;
            CHECK(one.text(value));
            CHECK(value == before);
            CHECK(one.used() == before.size() + 2);
        }
    }
}

TEST_CASE("every shorter text is cut off, not wrong", "[json_scanner]") {
    const std::string whole = R"({"a\"": [1, {"b": "c\\"}, true], "d": "\u00b5"})";
    for (size_t length = 0; length <= whole.size(); ++length) {
        const std::string part = whole.substr(0, length);
        INFO(part);
        JsonScanner scanner(part);
        std::string_view key, value;
        int members = 0;
        scanner.enter('{');
        while (scanner.next_member(key)) members += scanner.skip(value) ? 1 : 0;
        CHECK(scanner.cut() == (length < whole.size()));
        CHECK_FALSE(scanner.wrong());
        CHECK((members == 2 || scanner.cut()));
    }
}

TEST_CASE("values are stepped over as they stand", "[json_scanner]") {
    for (const char* value :
         {R"("")", R"("a\"b, c")", R"("c\\")", "12.5e3", "a:b", "[1, {\"]\": \"}\"}]", "{}"}) {
        for (const char* behind : {"}", ", \"x\": 1}", " \n}"}) {
            const std::string json = std::string("{\"k\": ") + value + behind;
            INFO(json);
            JsonScanner scanner(json);
            std::string_view key, skipped;
            scanner.enter('{');
            REQUIRE(scanner.next_member(key));
            REQUIRE(scanner.skip(skipped));
            CHECK(skipped == value);
            CHECK(scanner.next_member(key) == (behind[0] == ','));
            CHECK_FALSE(scanner.wrong());
        }
    }
}

TEST_CASE("what is no JSON is wrong, and stays so", "[json_scanner]") {
    for (const char* json :
         {R"({"a" 1})", R"({a: 1})", R"({1: 2})", R"({"a": })", R"({"a"])", R"({"a": 1 ])"}) {
        INFO(json);
        JsonScanner scanner(json);
        std::string_view key;
        scanner.enter('{');
        while (scanner.next_member(key)) scanner.skip();
        CHECK(scanner.wrong());
        CHECK_FALSE(scanner.next_member(key));
        CHECK_FALSE(scanner.skip());
    }
}

TEST_CASE("commas may be missing or too many", "[json_scanner]") {
    JsonScanner scanner("[1 ,, 2 3,]");
    std::string_view value;
    std::string all;
    for (scanner.enter('['); scanner.next_item(); all += value) scanner.word(value);
    CHECK(all == "123");
    CHECK_FALSE((scanner.cut() || scanner.wrong()));
}

TEST_CASE("a value is stepped over in pieces as in one", "[json_scanner]") {
    std::mt19937_64 random(7);
    for (const std::string value :
         {R"( {"a": "}\"]", "b": [[], {"c": "\\"}]})", R"("te\\xt\"")", "-1.5e3", "null", "[[[[[[]]]]]]"}) {
        const std::string json = value + ", \"next\"";
        for (int i = 0; i < 200; ++i) {
            JsonSkipper skipper;
            size_t at = 0;
            while (!skipper.done() && at < json.size()) at += skipper.feed(json.substr(at, 1 + random() % 4));
            CHECK(at == value.size());
        }
    }
}

}  // namespace json_scanner_test
