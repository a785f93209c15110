// Run when gpushim is built: makes databases without rows of their SQL in memory and writes them to its
// output as C++ (sqlite/database_image.h). Its bytes depend on the SQL and on the SQLite that is linked, and
// on nothing else.
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "run_db.h"

namespace gpushim::analysis {
extern const char kTraceSchema[], kImportedSchema[];
}

namespace {

using namespace gpushim::analysis;

void check(sqlite3* base, int code) {
    if (code == SQLITE_OK) return;
    std::fprintf(stderr, "make_images: %s\n", sqlite3_errmsg(base));
    std::exit(1);
}

// A line for each 4 KiB.
void print(const unsigned char* bytes, sqlite3_int64 size) {
    constexpr sqlite3_int64 kLine = 4096;
    for (sqlite3_int64 at = 0; at < size; ++at) {
        if (at % kLine == 0) std::printf(at == 0 ? "\"" : "\"\n\"");
        std::printf("\\%03o", bytes[at]);
    }
    std::printf("\"");
}

void print_image(const char* name, const std::vector<std::string>& statements) {
    sqlite3* base = nullptr;
    check(base, sqlite3_open(":memory:", &base));
    const auto run = [&](const std::string& sql) {
        check(base, sqlite3_exec(base, sql.c_str(), nullptr, nullptr, nullptr));
    };
    run("PRAGMA page_size = 4096; BEGIN");
    for (const std::string& sql : statements) run(sql);
    run("COMMIT");
    sqlite3_int64 size = 0;
    unsigned char* const bytes = sqlite3_serialize(base, "main", &size, 0);
    std::printf("const std::string_view %s(\n", name);
    print(bytes, size);
    std::printf(", %lld);\n", static_cast<long long>(size));
    sqlite3_free(bytes);
    check(base, sqlite3_close(base));
}

std::vector<std::string> of_run() {
    std::vector<std::string> statements = {"PRAGMA user_version = " + std::to_string(kRunSchema)};
    for (size_t i = 0; i < kRunSqlFiles; ++i) {
        const std::string_view name = kRunSql[i].name;
        if (name.starts_with("tables/") || name.starts_with("views/")) statements.push_back(kRunSql[i].text);
    }
    return statements;
}

}  // namespace

int main() {
    std::printf("#include \"analysis/sqlite/database_image.h\"\nnamespace gpushim::analysis {\n");
    print_image("kTraceImage", {kTraceSchema, kImportedSchema});
    print_image("kRunImage", of_run());
    std::printf("}\n");
    return 0;
}
