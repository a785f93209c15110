#include "history_db.h"

#include <sqlite3.h>

#include <algorithm>
#include <map>

#include "../failure.h"

namespace gpushim::analysis {

namespace {

constexpr int kPatienceMs = 60'000;  // while another process adds its night

NightResult result_of(const std::string& word) {
    for (size_t i = 0; i < std::size(kNightResults); ++i)
        if (word == kNightResults[i]) return static_cast<NightResult>(i);
    return NightResult::kInconclusive;
}

bool is_unwritable(int code) {
    return code == SQLITE_READONLY || code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
}

}  // namespace

void History::Close::operator()(sqlite3* base) const { sqlite3_close_v2(base); }  // cannot fail usefully

History::History(const std::filesystem::path& place, Open open) : where_(place.string()) {
    const int flags =
        open == Open::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    if (open == Open::kRead && !std::filesystem::exists(place))
        throw Failure(where_ + ": No such file or directory; `gpushim history add` with traces makes one");
    sqlite3* base = nullptr;
    const int code = sqlite3_open_v2(place.c_str(), &base, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    base_.reset(base);
    if (code != SQLITE_OK && open == Open::kWrite) throw Unwritable(where_ + ": " + sqlite3_errstr(code));
    if (code != SQLITE_OK) throw Failure(where_ + ": " + sqlite3_errstr(code));
    sqlite3_busy_timeout(base, kPatienceMs);
    for (const int off : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER})
        sqlite3_db_config(base, off, 0, nullptr);
    make_or_check(open);
}

void History::make_or_check(Open open) {
    if (open == Open::kWrite) begin();
    const auto has = [&](const char* tables) {
        Query query = ask(std::string("SELECT count(*) FROM sqlite_schema") + tables);
        return query.step() && query.number(0) != 0;
    };
    if (open == Open::kWrite && !has(""))
        make("PRAGMA application_id = " + std::to_string(kHistoryApplication) +
             "; PRAGMA user_version = " + std::to_string(kHistorySchema) + ";");
    Query application = ask("PRAGMA application_id"), version = ask("PRAGMA user_version");
    application.step();
    version.step();
    if (application.number(0) != kHistoryApplication) throw Failure(where_ + ": not a history of gpushim");
    if (version.number(0) > kHistorySchema)
        throw Failure(where_ + ": written by a newer gpushim; use that version, or begin another history");
    // What is called night_serving came later than version 1 did, and night_use later than that.
    tells_serving_ = has(" WHERE name = 'night_serving'");
    tells_use_ = has(" WHERE name = 'night_use'");
    if (open == Open::kWrite && !(tells_serving_ && tells_use_)) make("");
    tells_serving_ = tells_serving_ || open == Open::kWrite;
    tells_use_ = tells_use_ || open == Open::kWrite;
    if (open == Open::kWrite) keep();
}

void History::make(const std::string& head) {
    if (sqlite3_exec(base_.get(), (head + kHistoryTables).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        throw Unwritable(where_ + ": " + sqlite3_errmsg(base_.get()));
}

Query History::ask(std::string_view sql, std::initializer_list<Value> values) const {
    Query query(base_.get(), where_, sql);
    int parameter = 0;
    for (const Value& value : values) query.bind(++parameter, value);
    return query;
}

void History::put(std::string_view sql, std::initializer_list<Value> values) const {
    try {
        ask(sql, values).step();
    } catch (const Failure& failure) {
        if (is_unwritable(sqlite3_errcode(base_.get()))) throw Unwritable(failure.what());
        throw;
    }
}

void History::begin() { put("BEGIN IMMEDIATE", {}); }
void History::keep() { put("COMMIT", {}); }

std::vector<Night> History::nights() const {
    std::vector<Night> nights;
    const std::string tokens = tells_serving_ ? "token_p50_ns, token_p95_ns" : "NULL, NULL";
    const std::string use = tells_use_ ? ", mfu, product_mfu, joules_per_step" : ", NULL, NULL, NULL";
    Query row = ask(
        "SELECT night, name, started_real_ns, series, place, result, why, cause, is_base, is_accepted, base,"
        " first_bad, step_ns, samples_per_step, " +
        tokens + use + " FROM night" + (tells_serving_ ? " LEFT JOIN night_serving USING (night)" : "") +
        (tells_use_ ? " LEFT JOIN night_use USING (night)" : "") + " ORDER BY started_real_ns, night");
    while (row.step())
        nights.push_back({row.number(0), row.text(1), row.number(2), row.text(3), row.text(4),
                          result_of(row.text(5)), row.text(6), row.text(7), row.number(8) != 0,
                          row.number(9) != 0, row.maybe(10), row.maybe(11), row.maybe_real(12),
                          row.maybe_real(13), row.maybe(14), row.maybe(15), row.maybe_real(16),
                          row.maybe_real(17), row.maybe_real(18)});
    return nights;
}

std::set<std::string> History::traces(int64_t night) const {
    std::set<std::string> all;
    Query row = ask("SELECT uuid FROM night_trace WHERE night = ?1", {night});
    while (row.step()) all.insert(row.text(0));
    return all;
}

void History::remove(int64_t night) {
    std::vector<std::string> tables;
    Query row = ask("SELECT name FROM sqlite_master WHERE type = 'table' AND name || '_' GLOB 'night_*'", {});
    while (row.step()) tables.push_back(row.text(0));
    for (const std::string& table : tables) put("DELETE FROM " + table + " WHERE night = ?1", {night});
}

void History::accept(int64_t night) {
    put("UPDATE night SET is_accepted = 1, is_base = 1 WHERE night = ?1", {night});
}

void History::prune(size_t most) {
    const std::vector<Night> all = nights();
    std::map<std::string, int64_t> last_base;
    for (const Night& night : all)
        if (night.is_base) last_base[night.series + "\n" + night.place] = night.id;
    for (size_t i = 0; i + most < all.size(); ++i) {
        const auto found = last_base.find(all[i].series + "\n" + all[i].place);
        if (found == last_base.end() || found->second != all[i].id) remove(all[i].id);
    }
}

}  // namespace gpushim::analysis
