// Operations of which a trace does not say on which device they ran.
#include "analysis/trace/placeless.h"

#include <catch2/catch.hpp>

#include "analysis/process/temporary.h"
#include "analysis/sqlite/new_database.h"
#include "shim/sqlite/schema.h"

namespace placeless_test {

using namespace gpushim::analysis;

namespace {

int64_t placeless_in(const std::string& rows) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "trace.db";
    NewDatabase base(path);
    for (const char* part : gpushim_schema) base.run(part);
    base.run(rows);
    base.move_to_place();
    return placeless_operations(Database(path));
}

// Stream 1 is of a context that is told, 2 of one that is not; of that of 3 and 4 the device is not known.
constexpr const char* kStreams =
    "INSERT INTO device (id, uuid, name) VALUES (0, 'GPU-0', 'A');"
    "INSERT INTO context (id, handle_id, device_id) VALUES (1, 1, 0), (3, 3, NULL), (4, 4, 7);"
    "INSERT INTO stream (id, context_id, kind) VALUES (1, 1, 'legacy'), (2, 2, 'made'), (3, 3, 'made'),"
    " (4, 4, 'made'), (5, NULL, 'legacy');";

}  // namespace

TEST_CASE("operations are on a GPU that is known, or are counted", "[placeless]") {
    const std::string streams = kStreams;
    CHECK(placeless_in(streams) == 0);
    CHECK(placeless_in(streams + "INSERT INTO launch (enter_ns, stream_id, flags) VALUES (1, 1, 0);") == 0);
    // Of each kind one, and of launches one in each stream of which the GPU is not known.
    CHECK(
        placeless_in(streams +
                     "INSERT INTO launch (enter_ns, stream_id, flags) VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0),"
                     " (4, 4, 0), (5, 5, 0);"
                     "INSERT INTO copy (enter_ns, stream_id, flags) VALUES (1, 2, 0);"
                     "INSERT INTO memset (enter_ns, stream_id, flags) VALUES (1, 2, 0);"
                     "INSERT INTO graph_launch (enter_ns, stream_id, flags) VALUES (1, 2, 0);"
                     "INSERT INTO sync (enter_ns, stream_id, calls, flags) VALUES (1, 2, 1, 0);") == 7);
    // What did not run needs no GPU: it was captured, failed, or never returned.
    CHECK(placeless_in(
              streams +
              "INSERT INTO launch (enter_ns, stream_id, flags) VALUES (1, 2, 1), (2, 2, 2), (3, 2, 4);") ==
          0);
}

TEST_CASE("one operation is one", "[placeless]") {
    CHECK(placeless_text(1) == "the trace does not say on which GPU 1 operation ran");
    CHECK(placeless_text(2) == "the trace does not say on which GPU 2 operations ran");
}

}  // namespace placeless_test
