#include "patched.h"

#include <sqlite3.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "target.h"

namespace fuzz {

namespace {

// What somebody may have put into a trace who knows how it will be read.
constexpr const char* kHostile[] = {
    "ALTER TABLE process RENAME TO old; CREATE VIEW process AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
    " SELECT i + 1 FROM n) SELECT old.* FROM old, n",
    "ALTER TABLE meta RENAME TO old; CREATE VIEW meta AS SELECT a.key, a.value FROM old a, old b, old c, old "
    "d,"
    " old e, old f, old g, old h",
    "ALTER TABLE launch RENAME TO old; CREATE VIEW launch AS SELECT a.* FROM old a, old b, old c, old d, old "
    "e",
    "DROP TABLE name; CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT AS (hex(zeroblob(100000000))),"
    " symbol TEXT)",
    "DROP TABLE name; CREATE VIRTUAL TABLE name USING fts5(id, text, symbol)",
    "DROP VIEW IF EXISTS v_range; CREATE VIEW v_range AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT"
    " i + 1 FROM n) SELECT i AS start_ns, i AS end_ns, 'step' AS name FROM n",
    "CREATE TRIGGER owned AFTER INSERT ON launch BEGIN DELETE FROM launch; END",
    "UPDATE name SET text = hex(zeroblob(3000000))",
    "UPDATE process SET executable = hex(zeroblob(3000000)), run_key = zeroblob(1000)",
    "UPDATE handle SET parent_id = id",
    "UPDATE graph_launch SET enter_ns = -enter_ns",
    "UPDATE clock SET mono_ns = 9223372036854775807 - rowid",
    "UPDATE launch SET dur_ns = 9223372036854775807",
    "UPDATE launch SET dur_ns = -9223372036854775807 - 1",
    "UPDATE copy SET bytes = 9223372036854775807",
    "UPDATE \"window\" SET dur_ns = -1, operations = 0",
    "UPDATE rollup SET events = -1, sum_ns = 1e308",
    "UPDATE rollup SET histogram = zeroblob(100000)",
    "UPDATE device SET memory_bytes = 0",
    "UPDATE process SET rank = 2000000000, world_size = -1",
    "UPDATE collective SET communicator_id = 77",
    "INSERT INTO launch_device SELECT enter_ns, -9000000000000000000, 9000000000000000000, 1 FROM launch",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO clock SELECT"
    " i, i, i FROM n",
    "PRAGMA user_version = 99",
    "PRAGMA user_version = 1",
    "PRAGMA application_id = 0x67707372",
    "PRAGMA encoding = 'UTF-16'; VACUUM",
    "PRAGMA page_size = 512; VACUUM",
    "PRAGMA journal_mode = WAL",
};
constexpr const char* kValues[] = {
    "NULL", "0", "-1",  "9223372036854775807", "-9223372036854775807 - 1", "1e308", "'x'", "zeroblob(9)",
    "0.5",  "1", "'-'", "4294967296"};

class Script {
  public:
    explicit Script(std::string_view bytes) : bytes_(bytes) {}
    bool is_over() const { return bytes_.empty(); }
    uint8_t byte() {
        if (bytes_.empty()) return 0;
        const auto first = static_cast<uint8_t>(bytes_[0]);
        bytes_.remove_prefix(1);
        return first;
    }
    uint32_t number() { return byte() | uint32_t{byte()} << 8 | uint32_t{byte()} << 16; }
    std::string_view take(size_t count) {
        const std::string_view taken = bytes_.substr(0, count);
        bytes_.remove_prefix(taken.size());
        return taken;
    }

  private:
    std::string_view bytes_;
};

struct Close {
    void operator()(sqlite3* base) const { sqlite3_close(base); }
};

// The nth answer, from the start again behind the last; empty: there is none.
std::string nth(sqlite3* base, const std::string& sql, size_t n) {
    std::vector<std::string> all;
    sqlite3_exec(
        base, sql.c_str(),
        [](void* list, int, char** values, char**) {
            static_cast<std::vector<std::string>*>(list)->emplace_back(values[0] != nullptr ? values[0] : "");
            return 0;
        },
        &all, nullptr);
    return all.empty() ? "" : all[n % all.size()];
}

// Some rows of some column of some table get some value.
std::string change(sqlite3* base, Script& script) {
    const std::string table = nth(base, "SELECT name FROM sqlite_schema WHERE type = 'table'", script.byte());
    const std::string column =
        nth(base, "SELECT name FROM pragma_table_info('" + table + "')", script.byte());
    const std::string value = kValues[script.byte() % std::size(kValues)];
    const std::string which = std::to_string(script.byte() % 4);
    return "UPDATE OR IGNORE \"" + table + "\" SET \"" + column + "\" = " + value +
           " WHERE rowid % 4 <= " + which;
}

std::string statement(sqlite3* base, uint8_t kind, Script& script) {
    if (kind == 0) return kHostile[script.byte() % std::size(kHostile)];
    if (kind == 1) return change(base, script);
    const std::string thing = nth(
        base, "SELECT type || ' \"' || name || '\"' FROM sqlite_schema WHERE sql IS NOT NULL", script.byte());
    return kind == 2 ? "DROP " + thing
                     : "DELETE FROM " + thing.substr(std::min(thing.find('"'), thing.size()));
}

// In memory; whatever SQLite refuses is left out.
std::string changed(const std::string& bytes, std::string_view script) {
    sqlite3* opened = nullptr;
    sqlite3_open(":memory:", &opened);
    const std::unique_ptr<sqlite3, Close> base(opened);
    auto* const pages = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
    std::memcpy(pages, bytes.data(), bytes.size());
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    require(sqlite3_deserialize(opened, "main", pages, size, size,
                                SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK,
            "a base that is none");
    Script at(script);
    for (int left = 8; left > 0 && !at.is_over(); --left) {
        const uint8_t kind = at.byte() % 4;
        sqlite3_exec(opened, statement(opened, kind, at).c_str(), nullptr, nullptr, nullptr);
    }
    sqlite3_int64 length = 0;
    unsigned char* const made = sqlite3_serialize(opened, "main", &length, 0);
    std::string all =
        made != nullptr ? std::string(reinterpret_cast<char*>(made), static_cast<size_t>(length)) : bytes;
    sqlite3_free(made);
    return all;
}

void patch(std::string& bytes, Script script) {
    while (!script.is_over() && !bytes.empty()) {
        const uint8_t kind = script.byte();
        const size_t place = script.number() % bytes.size();
        if (kind >= 250) {
            bytes.resize(place);
        } else {
            const std::string_view with = script.take(1 + kind % 8);
            bytes.replace(place, std::min(with.size(), bytes.size() - place),
                          with.substr(0, bytes.size() - place));
        }
    }
}

}  // namespace

std::string base_file(const char* name) {
    const char* const folder = std::getenv("FUZZ_BASES");
    if (folder == nullptr) return "";
    std::ifstream file(std::filesystem::path(folder) / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string patched(const std::string& base, std::string_view script) {
    if (script.starts_with("SQLite format 3") || base.empty()) return std::string(script);
    // The first byte says how many bytes of statements there are.
    Script at(script);
    const std::string_view statements = at.take(at.byte() % 64);
    std::string bytes = statements.empty() ? base : changed(base, statements);
    patch(bytes, at);
    return bytes;
}

}  // namespace fuzz
