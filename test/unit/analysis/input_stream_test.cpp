// Files of gzip: what they hold, and which damage is told, wherever it lies among the blocks that are read.
#include "analysis/importer/kineto/input_stream.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "analysis/importer/kineto/gzip_sum.h"
#include "analysis/process/temporary.h"
#include "deflated.h"

namespace input_stream_test {

using namespace gpushim::analysis;

namespace {

constexpr size_t kBlock = 256 << 10;  // that is read at once

std::string random_text(size_t bytes) {
    std::mt19937 random(static_cast<unsigned>(bytes));
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
}

std::string packed(const std::string& text, bool with_sum_of_head = false) {
    return made::deflated(text, {.with_sum_of_head = with_sum_of_head});
}

struct Read {
    std::string text, trouble;
};
Read read(const std::string& bytes) {
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "file").string();
    std::ofstream(path, std::ios::binary) << bytes;
    InputStream stream(path);
    std::vector<char> piece(100'000);
    Read all;
    while (const size_t got = stream.read(piece.data(), piece.size())) all.text.append(piece.data(), got);
    all.trouble = stream.trouble();
    return all;
}

std::string damaged_at(std::string bytes, size_t place) {
    bytes[place] = static_cast<char>(bytes[place] ^ 0x10);
    return bytes;
}

std::string told(const char* what, size_t bytes) {
    return std::string("gzip is damaged (") + what + ") after " + std::to_string(bytes) +
           " bytes of the file";
}

}  // namespace

TEST_CASE("the sum of gzip is zlib's", "[input_stream]") {
    const std::string text = random_text(3000);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
    for (size_t count = 0; count < 1000; ++count) {
        const size_t from = count % 37;
        const auto before = static_cast<uint32_t>(count * 2654435761U);
        CHECK(gzip_sum(before, bytes + from, count) == crc32_z(before, bytes + from, count));
    }
    CHECK(gzip_sum(0, bytes, text.size()) == crc32_z(0, bytes, text.size()));
}

TEST_CASE("gzip says what is wrong with its sum, wherever that lies among the blocks", "[input_stream]") {
    const size_t around = packed(random_text(kBlock)).size() - kBlock;
    for (size_t bytes = kBlock - 3; bytes < kBlock + 12; ++bytes) {  // of the file
        const std::string text = random_text(bytes - around), file = packed(text);
        INFO(bytes);
        const Read whole = read(file);
        CHECK(whole.text == text);
        CHECK(whole.trouble.empty());
        CHECK(read(damaged_at(file, file.size() - 6)).trouble ==
              told("incorrect data check", file.size() - 4));
        const Read other_length = read(damaged_at(file, file.size() - 3));
        CHECK(other_length.text == text);
        CHECK(other_length.trouble == told("incorrect length check", file.size()));
        CHECK(read(file.substr(0, file.size() - 1)).trouble ==
              "gzip breaks off after " + std::to_string(file.size() - 1) + " bytes of the file");
    }
}

TEST_CASE("each member of gzip has its own sum, and its head may have one", "[input_stream]") {
    const std::string one = random_text(1000), other = random_text(70'000);
    for (const bool with_sum_of_head : {false, true}) {
        const std::string first = packed(one, with_sum_of_head), second = packed(other);
        CHECK(read(first + second + first).text == one + other + one);
        CHECK(read(first + second + first).trouble.empty());
        CHECK(read(damaged_at(first, first.size() - 8) + second).trouble ==
              told("incorrect data check", first.size() - 4));
        CHECK(read(first + damaged_at(second, second.size() - 5)).trouble ==
              told("incorrect data check", first.size() + second.size() - 4));
    }
    const std::string file = packed(one, true);
    CHECK(read(damaged_at(file, 10)).trouble == told("header crc mismatch", 12));
}

}  // namespace input_stream_test
