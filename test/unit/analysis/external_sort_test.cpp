#include "analysis/importer/external_sort.h"

#include <catch2/catch.hpp>
#include <random>

#include "analysis/process/temporary.h"

namespace external_sort_test {

using namespace gpushim::analysis;

namespace {

struct Numbered {
    int64_t key, number;
};
struct ByKey {
    bool operator()(const Numbered& a, const Numbered& b) const { return a.key < b.key; }
};
using Sort = ExternalSort<Numbered, ByKey>;

std::vector<int64_t> sorted(size_t count, size_t chunk_bytes) {
    const TemporaryFolder folder;
    Sort sort(folder.path(), chunk_bytes);
    std::mt19937_64 random(7);
    std::vector<int64_t> keys;
    for (size_t i = 0; i < count; ++i) {
        keys.push_back(static_cast<int64_t>(random() % 1000));
        sort.add({keys.back(), static_cast<int64_t>(i)});
    }
    std::vector<int64_t> found;
    std::vector<bool> seen(count);
    sort.each([&](const Numbered& one) {
        found.push_back(one.key);
        CHECK(keys[static_cast<size_t>(one.number)] == one.key);
        seen[static_cast<size_t>(one.number)] = true;
    });
    std::sort(keys.begin(), keys.end());
    CHECK(found == keys);
    CHECK(std::count(seen.begin(), seen.end(), false) == 0);
    // Nothing is left in the folder: the file has no name.
    CHECK(std::filesystem::is_empty(folder.path()));
    return found;
}

}  // namespace

TEST_CASE("records are sorted in memory and in chunks alike", "[external_sort]") {
    const auto in_memory = sorted(5000, 1 << 20);
    CHECK(sorted(5000, 16 * 100) == in_memory);   // 50 chunks, all full
    CHECK(sorted(5000, 16 * 4999) == in_memory);  // the last one has one record
    CHECK(sorted(5000, 1) == in_memory);          // a chunk for each record
    CHECK(sorted(0, 16).empty());
}

TEST_CASE("records that are alike stay in the order in which they came", "[external_sort]") {
    for (const size_t chunk_bytes : {size_t{160'000}, size_t{11'200}}) {
        const TemporaryFolder folder;
        Sort sort(folder.path(), chunk_bytes);
        for (int64_t i = 0; i < 5000; ++i) sort.add({i % 7, i});
        std::vector<int64_t> last(7, -1);
        sort.each([&](const Numbered& one) {
            int64_t& before = last[static_cast<size_t>(one.key)];
            if (one.number <= before) FAIL_CHECK("not in order");
            before = one.number;
        });
    }
}

TEST_CASE("a chunk that is larger than a block is read block by block", "[external_sort]") {
    CHECK(sorted(50'000, 16 * 20'000).size() == 50'000);
}

TEST_CASE("where no file can be made sorting fails and says where", "[external_sort]") {
    Sort sort("/nonexistent", 16);
    CHECK_THROWS_WITH(sort.add({1, 1}), Catch::Contains("/nonexistent"));
}

}  // namespace external_sort_test
