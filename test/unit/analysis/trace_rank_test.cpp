// Ranks in names of files.
#include "analysis/importer/trace_rank.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace trace_rank_test {

using namespace gpushim::analysis;

TEST_CASE("a rank is read from the file's name, where it is one", "[trace_rank]") {
    struct Row {
        const char* path;
        std::optional<int64_t> rank;
    };
    const Row rows[] = {
        {"rank-3.json", 3},
        {"/data/rank-9/trace_rank12.json.gz", 12},  // the file's name, not the folder's
        {"Rank_0.json", 0},
        {"step5_rank[7].json", 7},
        {"a.rank=11.host_4711.json", 11},
        {"worker.3.pt.trace.json.gz", 3},
        {"worker2.1690000000000.pt.trace.json", 2},
        {"worker7_rank1.json", 1},
        {"trace_3.json", 3},
        {"5.json.gz", 5},
        {"node7_4711.1690000000000.pt.trace.json", {}},  // process and time
        {"libkineto_activities_4711.json", {}},
        {"frank3.json", {}},
        {"ranks.json", {}},
        {"trace.json", {}},
        {"rank-99999999999999999999.json", {}},
        {"", {}},
        {"rank", {}},
    };
    for (const Row& row : rows) {
        INFO(row.path);
        CHECK(rank_of_file_name(row.path) == row.rank);
    }
}

TEST_CASE("a bare number is a rank only in names that are alike but for it", "[trace_rank]") {
    CHECK(rank_of_file_name("gpu-node-013.example.xplane.pb", false) == std::nullopt);
    CHECK(rank_of_file_name("attempt_5.sqlite", false) == std::nullopt);
    CHECK(rank_of_file_name("rank_5.sqlite", false) == 5);
    using Names = std::vector<std::string>;
    CHECK(are_numbered(Names{"a/trace_0.json", "b/trace_1.json"}));
    CHECK(are_numbered(Names{"trace_0.json", "trace_1.json.gz", "trace_2.json.gz"}));  // some are packed
    CHECK(!are_numbered(Names{"trace_1.json", "trace_1.json.gz"}));
    CHECK(!are_numbered(Names{"trace_3.json"}));
    CHECK(!are_numbered(Names{"a/trace_3.json", "b/trace_3.json"}));
    CHECK(!are_numbered(Names{"before_1.json", "after_2.json"}));
    CHECK(!are_numbered(Names{"trace_1.json", "trace.json"}));
    CHECK(!are_numbered(Names{}));
    CHECK(are_numbered(Names{"trace_0.json", "trace_warmup.json", "trace_1.json"}));  // one has none
}

}  // namespace trace_rank_test
