#include "base.h"

#include <sqlite3.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "target.h"

namespace fuzz {

namespace {

using gpushim::analysis::Database;

// What goes over the whole file, and is no part of a transaction.
constexpr const char* kRewritten[] = {"PRAGMA encoding = 'UTF-16'; VACUUM",
                                      "PRAGMA page_size = 1024; VACUUM"};
constexpr uint8_t kFirstRewriting = 248, kMostStatementBytes = 62;

// Everything between is as if it had never been. Statements may have ended it themselves.
class Undone {
  public:
    explicit Undone(sqlite3* base) : base_(base) { run("BEGIN"); }
    ~Undone() {
        if (sqlite3_get_autocommit(base_) == 0) run("ROLLBACK");
    }
    Undone(const Undone&) = delete;
    Undone& operator=(const Undone&) = delete;

  private:
    void run(const char* sql) const {
        require(sqlite3_exec(base_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sqlite3_errmsg(base_));
    }
    sqlite3* base_;
};

Database loaded(const std::string& file) {
    const Database from{std::filesystem::path(file)};
    Database to = Database::in_memory();
    sqlite3_backup* const copy = sqlite3_backup_init(to.raw(), "main", from.raw(), "main");
    require(copy != nullptr && sqlite3_backup_step(copy, -1) == SQLITE_DONE, "a base that is none");
    sqlite3_backup_finish(copy);
    return to;
}

// With what is not committed yet.
std::string bytes_of(sqlite3* base) {
    sqlite3_int64 length = 0;
    unsigned char* const made = sqlite3_serialize(base, "main", &length, 0);
    require(made != nullptr, "a base without bytes");
    std::string bytes(reinterpret_cast<char*>(made), static_cast<size_t>(length));
    sqlite3_free(made);
    return bytes;
}

std::string rewritten(const std::string& bytes, const char* how) {
    const Database base = Database::in_memory();
    auto* const pages = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
    std::memcpy(pages, bytes.data(), bytes.size());
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    require(sqlite3_deserialize(base.raw(), "main", pages, size, size,
                                SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK,
            "a base that is none");
    sqlite3_exec(base.raw(), how, nullptr, nullptr, nullptr);
    return bytes_of(base.raw());
}

std::string place_of(const char* name) {
    const char* const folder = std::getenv("FUZZ_BASES");
    require(folder != nullptr, "FUZZ_BASES is not set: test/fuzz/seeds.py makes bases");
    return (std::filesystem::path(folder) / name).string();
}

}  // namespace

Base::Base(const char* name)
    : memory_(loaded(place_of(name))), raw_(memory_.raw()), bytes_(bytes_of(raw_)), inventory_(memory_) {}

std::string Base::patched(std::string_view script) {
    if (script.starts_with("SQLite format 3")) return std::string(script);
    Script at(script);
    const uint8_t how = at.byte();
    std::string bytes = bytes_;
    if (how >= kFirstRewriting) {
        bytes = rewritten(bytes_, kRewritten[how % std::size(kRewritten)]);
    } else if (const auto statements = at.take(how % kMostStatementBytes); !statements.empty()) {
        const Undone undone(raw_);
        change(raw_, inventory_, Script(statements), Changes::schema_too);
        bytes = bytes_of(raw_);
    }
    patch(bytes, at);
    return bytes;
}

void Base::with_values(Script script, const std::function<void()>& work) {
    const Undone undone(raw_);
    change(raw_, inventory_, script, Changes::values);
    work();
}

void patch(std::string& bytes, Script script) {
    while (!script.is_over() && !bytes.empty()) {
        const uint8_t kind = script.byte();
        const size_t place = script.number() % bytes.size();
        if (kind >= 250) {
            bytes.resize(place);
        } else {
            const std::string_view with = script.take(1 + kind % 8);
            const std::string_view fits = with.substr(0, bytes.size() - place);
            bytes.replace(place, fits.size(), fits);
        }
    }
}

}  // namespace fuzz
