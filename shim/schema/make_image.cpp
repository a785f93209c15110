// Run when the library is built: makes an empty trace of the schema's SQL in memory and writes it to its
// output as C++ (schema_image.h). Its bytes depend on the SQL and on the SQLite that is linked, and on
// nothing else.
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../sqlite/schema.h"

namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kChangesAt = 24, kChangesAgainAt = 92;  // in the file's header

sqlite3* base = nullptr;

void check(int code) {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    std::fprintf(stderr, "make_image: %s\n", sqlite3_errmsg(base));
    std::exit(1);
}

void run(const std::string& sql) { check(sqlite3_exec(base, sql.c_str(), nullptr, nullptr, nullptr)); }

using Bytes = std::vector<unsigned char>;

Bytes image() {
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(base, "main", &size, 0);
    const Bytes copy(bytes, bytes + size);
    sqlite3_free(bytes);
    return copy;
}

std::vector<std::string> column(const std::string& query) {
    std::vector<std::string> texts;
    sqlite3_stmt* rows = nullptr;
    check(sqlite3_prepare_v2(base, query.c_str(), -1, &rows, nullptr));
    while (sqlite3_step(rows) == SQLITE_ROW)
        texts.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(rows, 0)));
    check(sqlite3_finalize(rows));
    return texts;
}

// Into the schema as rows, like everything there; its version stays, so that both images have the same.
void put_views(const std::vector<std::string>& views) {
    check(sqlite3_db_config(base, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr));
    run("BEGIN");
    for (const std::string& insertion : views) run("INSERT INTO sqlite_master VALUES " + insertion);
    run("COMMIT");
}

void print_page(const Bytes& bytes, size_t from) {
    const size_t until = from + kPageBytes;
    std::printf("{%zu, \"", from);
    for (size_t i = from; i < until; ++i) std::printf("\\%03o", bytes[i]);
    std::printf("\"},\n");
}

// A line for each page.
void print_image(const Bytes& bytes) {
    std::printf("const char kImage[] =\n");
    for (size_t at = 0; at < bytes.size(); at += kPageBytes) {
        std::printf("\"");
        for (size_t i = at; i < at + kPageBytes; ++i) std::printf("\\%03o", bytes[i]);
        std::printf("\"\n");
    }
    std::printf(";\n");
}

// By another count of changes a connection sees that its pages are no longer those of the file.
void print_before_views(Bytes before, const Bytes& bytes) {
    for (size_t at : {kChangesAt, kChangesAgainAt}) before[at] = static_cast<unsigned char>(bytes[at] ^ 0x80);
    std::printf("const ImagePage kBeforeViews[] = {\n");
    for (size_t at = 0; at < before.size(); at += kPageBytes)
        if (!std::equal(&before[at], &before[at] + kPageBytes, &bytes[at])) print_page(before, at);
    std::printf("};\n");
}

}  // namespace

int main() {
    check(sqlite3_open(":memory:", &base));
    run("PRAGMA page_size = 4096; BEGIN");
    for (const char* part : gpushim_schema) run(part);
    run("COMMIT");
    const auto views = column(
        "SELECT printf('(%Q, %Q, %Q, 0, %Q)', type, name, name, sql) FROM sqlite_master WHERE type = 'view'"
        " ORDER BY rowid");
    for (const std::string& name : column("SELECT name FROM sqlite_master WHERE type = 'view'"))
        run("DROP VIEW " + name);
    run("VACUUM");
    const Bytes before = image();
    put_views(views);
    const Bytes bytes = image();
    std::printf("#include \"shim/sqlite/schema_image.h\"\nnamespace gpushim::shim {\n");
    print_image(bytes);
    print_before_views(before, bytes);
    std::printf("const SchemaImage kSchemaImage = {{kImage, %zu}, kBeforeViews};\n}\n", bytes.size());
    return sqlite3_close(base) == SQLITE_OK ? 0 : 1;
}
