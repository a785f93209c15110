// Numbers as text, read exactly.
#include "analysis/importer/decimal.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace decimal_test {

using namespace gpushim::analysis;

TEST_CASE("microseconds become nanoseconds without a double in between", "[decimal]") {
    CHECK(scaled("1682725898236567", 3) == 1682725898236567000);
    CHECK(scaled("1682725898236567.123", 3) == 1682725898236567123);  // a double would say .250
    CHECK(scaled("0.001", 3) == 1);
    CHECK(scaled("68.0", 3) == 68000);
    CHECK(scaled("12.", 3) == 12000);
    CHECK(scaled(".5", 3) == 500);
    CHECK(scaled("-3.25", 3) == -3250);
    CHECK(scaled("1.682725898236567123e15", 3) == 1682725898236567123);
    CHECK(scaled("25E-3", 3) == 25);
    CHECK(scaled("0e99999999999", 3) == 0);
}

TEST_CASE("digits behind the nanosecond are rounded, halves away from zero", "[decimal]") {
    CHECK(scaled("1.0004", 3) == 1000);
    CHECK(scaled("1.0005", 3) == 1001);
    CHECK(scaled("-1.0005", 3) == -1001);
    CHECK(scaled("1.00049999999999999999999", 3) == 1000);
    // 19 digits are kept while reading; here the one that decides is the 20th.
    CHECK(scaled("1682725898236567.1234", 3) == 1682725898236567123);
    CHECK(scaled("1682725898236567.1235", 3) == 1682725898236567124);
    CHECK(scaled("1682725898236567.12349999", 3) == 1682725898236567123);
    CHECK(scaled("0.00049", 3) == 0);
    CHECK(scaled("1e-400", 3) == 0);
}

TEST_CASE("what is no number, or too large, is none", "[decimal]") {
    for (const char* text : {"",
                             "-",
                             ".",
                             "e5",
                             "1e",
                             "1e+",
                             "1e5x",
                             "12a",
                             "1.2.3",
                             "NaN",
                             "Infinity",
                             "-inf",
                             "0x10",
                             "+1",
                             " 1",
                             "--1",
                             "null",
                             "9223372036854775.808",
                             "1e30",
                             "99999999999999999999999",
                             "1e99999999999999999999"}) {
        INFO(text);
        CHECK(scaled(text, 3) == std::nullopt);
    }
    CHECK(scaled("9223372036854775.807", 3) == INT64_MAX);
    CHECK(integer("140000000000000") == 140000000000000);
    CHECK(real("62.5") == 62.5);
    CHECK(real("nan") == std::nullopt);
    CHECK(real("1e999") == std::nullopt);
    CHECK(real("") == std::nullopt);
}

TEST_CASE("any nanosecond survives being written as microseconds", "[decimal]") {
    std::mt19937_64 random(6);
    for (int i = 0; i < 10'000; ++i) {
        const auto ns = static_cast<int64_t>(random() >> (1 + random() % 63));
        std::string text = std::to_string(ns / 1000) + "." + std::to_string(1000 + ns % 1000).substr(1);
        CHECK(scaled(text, 3) == ns);
    }
}

TEST_CASE("a number is the same with an exponent and without", "[decimal]") {
    std::mt19937_64 random(22);
    for (int i = 0; i < 20'000; ++i) {
        std::string text;
        for (uint64_t length = random() % 24; text.size() < length;) text += "0123456789"[random() % 10];
        if (random() % 2 == 0) text.insert(random() % (text.size() + 1), ".");
        if (random() % 16 == 0) text.insert(random() % (text.size() + 1), "x");
        const int shift = random() % 2 == 0 ? 3 : 0;
        INFO(text);
        CHECK(scaled(text, shift) == scaled(text + "e0", shift));
    }
}

}  // namespace decimal_test
