// What a server's iterations do with a GPU, where it is not known how long it waited for its peers.
#include <catch2/catch.hpp>

#include "analysis/page/part.h"
#include "made_run.h"
#include "run_rows.h"

namespace serving_report_test {

using namespace made;
using Catch::Contains;

namespace {

struct Said {
    std::string text, page;
};

// Of one rank that decodes with a collective in each iteration.
Said said_of(bool knows_waits) {
    RunRows rows;
    rows.rank(0).steps(
        0, {.ran = {{kCompute, 12 * kMs}, {kTransfer, 2 * kMs}}, .idle = {{"host_cpu", 6 * kMs}}});
    rows.add("program", {{"rank_id", 0}, {"kind", "serving"}, {"confidence", 0.95}, {"why", "told"}});
    for (int64_t step = 0; step < RunRows::kSteps; ++step)
        rows.add("iteration", {{"rank_id", 0}, {"step", step}, {"kind", "decode"}, {"class", 0}});
    if (!knows_waits)
        rows.change(
            "INSERT INTO kernel (gpu_id, name, launches, comm_source) SELECT gpu_id, 'nccl', 1, 'nccl'"
            " FROM gpu");
    const TemporaryFolder folder;
    const std::string place = folder.path() / "made.run.db";
    rows.change("VACUUM INTO '" + place + "'");
    const Database run(place);
    const ReportSource source = {run, nullptr, {}};
    const Report report = write_report(source);
    return {text_of(report), report_page(source, report)};
}

}  // namespace

TEST_CASE("communication of a server is called exposed where its waits are known", "[serving_report]") {
    const Said known = said_of(true), untold = said_of(false);
    CHECK_THAT(known.text, Contains(" compute  exposed comm "));
    CHECK_THAT(known.page, Contains("decode: exposed communication 10 %"));
    CHECK_THAT(untold.text, Contains(" compute  comm, waits too "));
    CHECK_THAT(untold.page, Contains("decode: communication, waits not known 10 %"));
    CHECK_THAT(untold.page, !Contains("decode: exposed"));
    CHECK_THAT(untold.page, !Contains(">exposed comm<"));
}

}  // namespace serving_report_test
