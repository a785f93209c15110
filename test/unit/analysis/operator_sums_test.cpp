// Sums of what operators launched are those that a join of the tables gives.
#include "analysis/run/parts/operator_sums.h"

#include <catch2/catch.hpp>
#include <random>

#include "analysis/process/temporary.h"
#include "analysis/sqlite/new_database.h"
#include "shim/sqlite/schema.h"

namespace operator_sums_test {

using namespace gpushim::analysis;

namespace {

constexpr const char* kJoin =
    "SELECT s.device_id, o.text, m.text, k.pass, f.text, count(*), coalesce(sum(d.dur_ns), 0)"
    " FROM launch_operator k JOIN launch l ON l.enter_ns = k.enter_ns"
    " JOIN launch_device d ON d.enter_ns = k.enter_ns JOIN v_stream s ON s.id = l.stream_id"
    " LEFT JOIN name o ON o.id = k.operator_id LEFT JOIN name m ON m.id = k.module_id"
    " LEFT JOIN name f ON f.id = k.forward_id GROUP BY 1, 2, 3, 4, 5";

// Streams 1 and 2 are of one device, 3 of another one, 4 of one that is not known, 5 is not there. Names 1
// and 2 are alike, 5 is not there.
constexpr const char* kStreamsAndNames =
    "CREATE TABLE launch_operator (enter_ns INTEGER PRIMARY KEY, operator_id INTEGER, module_id INTEGER,"
    " pass INTEGER, forward_id INTEGER);"
    "INSERT INTO context (id, handle_id, device_id) VALUES (1, 1, 0), (3, 3, 1), (4, 4, NULL);"
    "INSERT INTO stream (id, context_id, kind) VALUES (1, 1, 'legacy'), (2, 1, 'made'), (3, 3, 'made'),"
    " (4, 4, 'made');"
    "INSERT INTO name (id, text) VALUES (1, 'mm'), (2, 'mm'), (3, 'add'), (4, 'Linear');";

std::string one_of(std::mt19937& random, int most) {
    const auto number = static_cast<int>(random() % static_cast<unsigned>(most + 1));
    return number == 0 ? "NULL" : std::to_string(number);
}

std::string random_rows(std::mt19937& random) {
    std::string sql = kStreamsAndNames;
    for (int i = 0; i < 200; ++i) {
        const std::string key = std::to_string(i);
        const auto is_there = [&] { return random() % 8 != 0; };
        if (is_there())
            sql += "INSERT INTO launch (enter_ns, stream_id, flags) VALUES (" + key + ", " +
                   one_of(random, 5) + ", 0);";
        if (is_there())
            sql += "INSERT INTO launch_device (enter_ns, dur_ns) VALUES (" + key + ", " + one_of(random, 9) +
                   ");";
        if (is_there())
            sql += "INSERT INTO launch_operator VALUES (" + key + ", " + one_of(random, 5) + ", " +
                   one_of(random, 5) + ", " + one_of(random, 2) + ", " + one_of(random, 5) + ");";
    }
    return sql;
}

using Rows = std::vector<std::string>;

Rows joined(const Database& base) {
    Rows all;
    for (Query row = base.prepare(kJoin); row.step();) {
        std::string text;
        for (int column = 0; column < row.columns(); ++column)
            text += (row.is_null(column) ? "NULL" : row.text(column)) + " ";
        all.push_back(text);
    }
    return all;
}

Rows summed(const Database& base) {
    Rows all;
    const auto number = [](const auto& is) { return (is ? std::to_string(*is) : "NULL") + " "; };
    const auto text = [](const auto& is) { return is.value_or("NULL") + " "; };
    for (const OperatorSum& sum : operator_sums(base))
        all.push_back(number(sum.device) + text(sum.name) + text(sum.module) + number(sum.pass) +
                      text(sum.forward) + std::to_string(sum.launches) + " " + std::to_string(sum.ns) + " ");
    return all;
}

Rows both(const std::string& rows) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "trace.db";
    NewDatabase made(path);
    for (const char* part : gpushim_schema) made.run(part);
    made.run(rows);
    made.move_to_place();
    const Database base(path);
    const Rows sums = summed(base);
    CHECK(sums == joined(base));
    return sums;
}

}  // namespace

TEST_CASE("sums over operators are those of a join", "[operator_sums]") {
    CHECK(both(kStreamsAndNames).empty());
    std::mt19937 random(3);
    for (int i = 0; i < 20; ++i) CHECK(both(random_rows(random)).size() > 20);
}

}  // namespace operator_sums_test
