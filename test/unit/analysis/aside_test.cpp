// Arrays that lie in a file once memory has enough of them.
#include "analysis/process/aside.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/process/temporary.h"
#include "files_at_most.h"
#include "optional.h"

namespace aside_test {

using namespace gpushim::analysis;

namespace {

using Numbers = AsideArray<int64_t>;

constexpr size_t kMiB = 1 << 20;

Numbers numbers(size_t count, int64_t from) {
    Numbers made;
    for (size_t i = 0; i < count; ++i) made.push_back(from + static_cast<int64_t>(i));
    return made;
}

bool are_from(const Numbers& numbers, int64_t from) {
    for (const int64_t number : numbers)
        if (number != from++) return false;
    return true;
}

// Of a file, or of memory that is one: what this process has of it in memory.
size_t in_memory_of_files() {
    size_t bytes = 0;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssFile:") || line.starts_with("RssShmem:"))
            bytes += 1024 * std::stoull(line.substr(line.find(':') + 1));
    return bytes;
}

// As the header says of disks, asked in another way.
bool is_disk(const std::filesystem::path& folder) {
    struct statfs found;
    if (statfs(folder.c_str(), &found) != 0 || found.f_type == TMPFS_MAGIC) return false;
    const std::string name = (folder / "asked").string();
    const int file = open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    const bool can = fallocate(file, 0, 0, kMiB) == 0;
    close(file);
    std::filesystem::remove(name);
    return can && found.f_bavail * static_cast<uint64_t>(found.f_bsize) > 512 * kMiB;
}

}  // namespace

TEST_CASE("the first arrays stay in memory, those behind go into the file", "[aside]") {
    const TemporaryFolder folder;
    if (!is_disk(folder.path())) return lacks("disk");
    Aside aside(folder.path(), 1000 * sizeof(int64_t));
    std::vector<Numbers> all;
    for (int64_t i = 0; i < 10; ++i) {
        all.push_back(numbers(400, 1000 * i));
        all.back().put(aside);
    }
    CHECK(aside.in_file() == 8 * 400 * sizeof(int64_t));
    CHECK(std::filesystem::is_empty(folder.path()));  // it has no name
    for (size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].size() == 400);
        CHECK(are_from(all[i], static_cast<int64_t>(1000 * i)));
    }
    all[9][7] = -1;
    aside.count_read(Aside::kReadAtOnce);
    CHECK(all[9][7] == -1);
    CHECK(all[9][8] == 9008);
    const Numbers moved = std::move(all[9]);
    CHECK(moved[8] == 9008);
    CHECK(all[9].empty());
}

TEST_CASE("an array may be larger than any before it, or empty", "[aside]") {
    const TemporaryFolder folder;
    Aside aside(folder.path(), 0);
    Numbers none, small = numbers(3, 5), large = numbers(3 * kMiB, 7), last = numbers(3, 9);
    for (Numbers* one : {&none, &small, &large, &last}) one->put(aside);
    CHECK(none.empty());
    CHECK(are_from(small, 5));
    CHECK(are_from(large, 7));
    CHECK(are_from(last, 9));
    CHECK(large.size() == 3 * kMiB);
}

TEST_CASE("what was read leaves the memory, and comes back as it was", "[aside]") {
    const TemporaryFolder folder;
    if (!is_disk(folder.path())) return lacks("disk");
    Aside aside(folder.path(), 0, kMiB);
    constexpr size_t kCount = 8 * kMiB;
    Numbers all = numbers(kCount, 0);
    all.put(aside);
    aside.count_read(kMiB);
    const size_t before = in_memory_of_files();
    size_t most = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < kCount; ++i) {
        sum += all[i];
        aside.count_read(sizeof all[i]);
        if (i % (kMiB / 16) == 0) most = std::max(most, in_memory_of_files());
    }
    CHECK(sum == int64_t{kCount} * (kCount - 1) / 2);
    CHECK(most < before + 16 * kMiB);  // of 64
}

TEST_CASE("where there is no room for a file all stays in memory", "[aside]") {
    const TemporaryFolder folder;
    Aside nowhere(folder.path() / "none", 0);
    Numbers one = numbers(400, 1);
    one.put(nowhere);
    CHECK(nowhere.in_file() == 0);
    CHECK(are_from(one, 1));

    if (!is_disk(folder.path())) return lacks("disk");
    Aside full(folder.path(), 0);
    Numbers fits = numbers(400, 2), fits_not = numbers(kMiB, 3), behind = numbers(400, 4);
    {
        const made::FilesAtMost disk(2 * kMiB);
        for (Numbers* each : {&fits, &fits_not, &behind}) each->put(full);
    }
    CHECK(full.in_file() == 2 * 400 * sizeof(int64_t));
    CHECK(are_from(fits, 2));
    CHECK(are_from(fits_not, 3));
    CHECK(are_from(behind, 4));
    CHECK(fits_not.size() == kMiB);
}

}  // namespace aside_test
