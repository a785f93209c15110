// XPlane files of our making, whole, cut off at every byte and with every byte changed.
#include "analysis/importer/xplane/xplane_reader.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "analysis/failure.h"
#include "analysis/importer/xplane/message_file.h"
#include "analysis/process/temporary.h"

#include <protozero/pbf_writer.hpp>

namespace xplane_reader_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kBase = 5000;

std::string named(int64_t id, const std::string& name) {
    std::string value, entry;
    protozero::pbf_writer(value).add_string(2, name);
    protozero::pbf_writer writer(entry);
    writer.add_int64(1, id);
    writer.add_message(2, value);
    return entry;
}

std::string event(int64_t name, int64_t offset_ps, int64_t duration_ps, int64_t correlation) {
    std::string stat, made;
    protozero::pbf_writer said(stat);
    said.add_int64(1, 9);
    said.add_int64(4, correlation);
    protozero::pbf_writer writer(made);
    writer.add_int64(1, name);
    writer.add_int64(2, offset_ps);
    writer.add_int64(3, duration_ps);
    writer.add_message(4, stat);
    return made;
}

std::string line(const std::vector<std::string>& events) {
    std::string made;
    protozero::pbf_writer writer(made);
    writer.add_int64(1, 17);
    writer.add_string(2, "Stream #17(Compute)");
    writer.add_int64(3, kBase);
    for (const std::string& message : events) writer.add_message(4, message);
    return made;
}

std::string plane(const std::string& name, const std::string& one_line) {
    std::string made;
    protozero::pbf_writer writer(made);
    writer.add_string(2, name);
    writer.add_message(3, one_line);
    writer.add_message(4, named(1, "gemm"));
    writer.add_message(5, named(9, "correlation_id"));
    return made;
}

std::string space() {
    std::string made;
    protozero::pbf_writer writer(made);
    const std::string two = line({event(1, 1999, 3001, 71), event(1, 9000, 0, 72)});
    writer.add_message(1, plane("/device:GPU:0", two));
    writer.add_message(1, plane("/device:GPU:1", two));
    writer.add_string(4, "made");
    return made;
}

struct Read {
    XplaneSummary summary;
    std::vector<std::string> events;
};

Read read(const std::string& bytes, bool wants = true) {
    static const TemporaryFolder folder;
    const std::string path = (folder.path() / "made.xplane.pb").string();
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    Read result;
    result.summary = read_xplane(
        path, folder.path(),
        {.wants = [wants](auto) { return wants; },
         .on_plane = [](auto, const XplaneStats&) {},
         .on_event =
             [&](const XplaneEvent& given) {
                 result.events.push_back(
                     std::string(given.plane) + " " + std::string(given.name) + " " +
                     std::to_string(given.start_ns) + "+" + std::to_string(given.duration_ns) + " #" +
                     std::to_string(given.stats.number(XplaneStat::correlation_id).value_or(-1)));
             }});
    return result;
}

}  // namespace

TEST_CASE("an XPlane file says what was written into it", "[xplane]") {
    const Read whole = read(space());
    CHECK(whole.events ==
          std::vector<std::string>{"/device:GPU:0 gemm 5001+4 #71", "/device:GPU:0 gemm 5009+0 #72",
                                   "/device:GPU:1 gemm 5001+4 #71", "/device:GPU:1 gemm 5009+0 #72"});
    CHECK(whole.summary.end_note.empty());
    CHECK(whole.summary.host == "made");
    CHECK(whole.summary.events == 4);
    CHECK(read(space(), false).events.empty());
}

TEST_CASE("a head behind the events is read, too", "[xplane]") {
    std::string late;
    protozero::pbf_writer writer(late);
    writer.add_message(4, event(1, 0, 1000, 71));
    writer.add_string(2, "Stream #17");
    writer.add_int64(3, kBase);
    std::string made;
    protozero::pbf_writer(made).add_message(1, plane("/device:GPU:0", late));
    CHECK(read(made).events == std::vector<std::string>{"/device:GPU:0 gemm 5000+1 #71"});
}

TEST_CASE("wherever it is cut off, what was whole before is read, and it is told", "[xplane]") {
    const std::string whole = space();
    const std::vector<std::string> all = read(whole).events;
    std::vector<size_t> ends;  // of planes: there nobody can know that more was to come
    for (protozero::pbf_reader planes(whole); planes.next(1);) {
        planes.skip();
        ends.push_back(whole.size() - planes.length());
    }
    REQUIRE(ends.size() == 2);
    for (size_t length = 3; length < whole.size(); ++length) {
        INFO("cut to " << length);
        const Read cut = read(whole.substr(0, length));
        REQUIRE(cut.events.size() >= (length < ends[0] ? 0 : length < ends[1] ? 2 : 4));
        REQUIRE(cut.events.size() <= (length < ends[0] ? 2 : 4));
        // The names of statistics stand at the end of a plane: without them no correlation is known.
        for (size_t i = 0; i < cut.events.size(); ++i)
            REQUIRE((cut.events[i] == all[i] || cut.events[i] == all[i].substr(0, all[i].find('#')) + "#-1"));
        REQUIRE(cut.summary.events + cut.summary.nameless + cut.summary.unreadable >= cut.events.size());
        const bool is_end = std::find(ends.begin(), ends.end(), length) != ends.end();
        REQUIRE(cut.summary.end_note == (is_end ? "" : "breaks off at byte " + std::to_string(length)));
    }
}

TEST_CASE("whatever a byte says, reading ends, and what is given is counted", "[xplane]") {
    const std::string whole = space();
    for (size_t at = 0; at < whole.size(); ++at)
        for (const int change : {1, 0x7f, 0x80, 0xff}) {
            INFO("byte " << at << " by " << change);
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ change);
            try {
                const Read damaged = read(changed);
                REQUIRE(damaged.summary.events == damaged.events.size());
            } catch (const Failure&) {  // it does not begin as such files do
                REQUIRE(at < 2);
            }
        }
}

TEST_CASE("times that cannot be are none", "[xplane]") {
    const auto unreadable = [](int64_t offset_ps, int64_t duration_ps) {
        std::string made;
        protozero::pbf_writer(made).add_message(
            1, plane("/device:GPU:0", line({event(1, offset_ps, duration_ps, 71)})));
        return read(made).summary.unreadable;
    };
    CHECK(unreadable(0, 0) == 0);
    CHECK(unreadable(-5'000'000, 0) == 0);
    CHECK(unreadable(-5'001'000, 0) == 1);  // before all time
    CHECK(unreadable(0, -1) == 1);
    CHECK(unreadable(INT64_MIN, INT64_MAX) == 1);
    CHECK(unreadable(INT64_MAX, INT64_MAX) == 0);  // half a year
}

}  // namespace xplane_reader_test
