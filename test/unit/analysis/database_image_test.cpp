// What a database begins with is what its SQL makes.
#include "analysis/sqlite/database_image.h"

#include <catch2/catch.hpp>
#include <vector>

#include "analysis/process/new_file.h"
#include "analysis/process/temporary.h"
#include "analysis/run/sql/run_db.h"
#include "analysis/sqlite/database.h"

namespace gpushim::analysis {
extern const char kTraceSchema[], kImportedSchema[];
}

namespace database_image_test {

using namespace gpushim::analysis;

namespace {

std::vector<std::string> all_of(const Database& base, const std::string& query) {
    std::vector<std::string> all;
    Query row = base.prepare(query);
    while (row.step()) {
        all.emplace_back();
        for (int i = 0; i < row.columns(); ++i) all.back() += row.text(i) + "|";
    }
    return all;
}

void check_same(std::string_view image, const Database& made, const std::vector<std::string>& queries) {
    const TemporaryFolder folder;
    NewFile file(folder.path() / "image.db");
    file.write(0, image);
    file.move_to_place();
    const Database base(folder.path() / "image.db");
    CHECK(all_of(base, "PRAGMA integrity_check") == std::vector<std::string>{"ok|"});
    for (const std::string& query : queries) {
        INFO(query);
        const auto expected = all_of(made, query);
        CHECK(!expected.empty());
        CHECK(all_of(base, query) == expected);
    }
}

constexpr const char* kWhatIsThere = "SELECT type, name, tbl_name, sql FROM sqlite_schema";

}  // namespace

TEST_CASE("a run begins with its tables and views", "[database_image]") {
    const Database made = Database::in_memory();
    made.run("PRAGMA user_version = " + std::to_string(kRunSchema));
    for (const char* folder : {"tables/", "views/"})
        for (size_t i = 0; i < kRunSqlFiles; ++i)
            if (std::string_view(kRunSql[i].name).starts_with(folder)) made.run(kRunSql[i].text);
    check_same(kRunImage, made,
               {kWhatIsThere, "PRAGMA user_version", "SELECT * FROM metric_definition ORDER BY rowid"});
}

TEST_CASE("a trace of another tool begins with the tables of all traces", "[database_image]") {
    const Database made = Database::in_memory();
    made.run(std::string(kTraceSchema) + kImportedSchema);
    check_same(kTraceImage, made, {kWhatIsThere, "PRAGMA user_version"});
}

}  // namespace database_image_test
