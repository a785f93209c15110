#include "run_db.h"

#include <sqlite3.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "../../sqlite/database_image.h"
#include "../../terminal/progress.h"
#include "counted_steps.h"
#include "step_lengths.h"

namespace gpushim::analysis {

namespace {

// The statement is done with the value when that goes.
template <class OneOf>
void bind(sqlite3_stmt* statement, int parameter, const OneOf& value) {
    struct Binder {
        sqlite3_stmt* statement;
        int parameter;
        void operator()(std::nullptr_t) const { sqlite3_bind_null(statement, parameter); }
        void operator()(int64_t number) const { sqlite3_bind_int64(statement, parameter, number); }
        void operator()(double real) const { sqlite3_bind_double(statement, parameter, real); }
        void operator()(std::string_view text) const {
            sqlite3_bind_text(statement, parameter, text.data(), static_cast<int>(text.size()),
                              SQLITE_STATIC);
        }
        void operator()(const Blob& blob) const { (*this)(BlobView{blob.bytes}); }
        void operator()(BlobView blob) const {
            sqlite3_bind_blob(statement, parameter, blob.bytes.data(), static_cast<int>(blob.bytes.size()),
                              SQLITE_STATIC);
        }
    };
    std::visit(Binder{statement, parameter}, value);
}

// What several metrics read, and what goes through all steps: computed once.
constexpr const char* kReadByMetrics[] = {"v_token_place", "v_model_rate", "v_product_rate", "v_gpu_energy"};
constexpr const char* kRunSteps = "v_run_steps";        // which is read before them …
constexpr const char* kUnknownWait = "v_unknown_wait";  // … as is what goes through all collectives

void stand_before(const char* view, const NewDatabase& run) {
    run.run(std::string("CREATE TEMP TABLE ") + view + " AS SELECT * FROM main." + view);
}

void leave_to(const char* view, const NewDatabase& run) { run.run(std::string("DROP TABLE temp.") + view); }

}  // namespace

RunDb::RunDb(std::filesystem::path place) : made_(std::move(place), kRunImage) {
    // All rows of a million steps and more: what is derived goes through them again and again.
    made_.run("PRAGMA cache_size = -98304");
    made_.run("BEGIN");
    run_files("temporary/");
}

void RunDb::wait_for_turn(int64_t rank_id) {
    std::unique_lock guard(lock_);
    turn_ended_.wait(guard, [&] { return turn_ >= rank_id; });
}

void RunDb::end_turn(int64_t rank_id) {
    const std::lock_guard guard(lock_);
    ended_.insert(rank_id);
    while (ended_.erase(turn_) != 0) ++turn_;
    turn_ended_.notify_all();
}

void RunDb::add(const char* table, std::initializer_list<Value> row) {
    const std::lock_guard guard(lock_);
    if (trees_.has(table)) trees_.settle();
    sqlite3_stmt* statement = made_.row_of(table, row.size());
    int parameter = 0;
    for (const Value& value : row) bind(statement, ++parameter, value);
    made_.put_row(statement);
}

void RunDb::add_some(const char* table, size_t columns, std::span<const PlainValue> rows) {
    const std::lock_guard guard(lock_);
    if (trees_.has(table)) trees_.settle();
    sqlite3_stmt* statement = made_.rows_of(table, columns, rows.size() / columns);
    int parameter = 0;
    for (const PlainValue& cell : rows) bind(statement, ++parameter, cell);
    made_.put_row(statement);
}

void RunDb::keep(WrittenRank rank) {
    const std::lock_guard guard(lock_);
    written_.ranks.push_back(std::move(rank));
}

void RunDb::keep(WrittenGpu gpu) {
    const std::lock_guard guard(lock_);
    gpu.first_gap = last_gap() + 1 - static_cast<int64_t>(gpu.gaps.size());
    const auto behind =
        std::upper_bound(written_.gpus.begin(), written_.gpus.end(), gpu.gpu_id,
                         [](int64_t id, const WrittenGpu& other) { return id < other.gpu_id; });
    written_.gpus.insert(behind, std::move(gpu));
}

int64_t RunDb::last_gap() {
    if (const auto newest = trees_.newest("gap")) return *newest;
    Query last(made_.raw(), "run", "SELECT max(rowid) FROM gap");
    return last.step() ? last.number(0) : 0;
}

void RunDb::forget_written() { written_ = {}; }

void RunDb::run_files(std::string_view folder) {
    for (size_t i = 0; i < kRunSqlFiles; ++i)
        if (std::string_view(kRunSql[i].name).starts_with(folder)) {
            made_.run(kRunSql[i].text);
            Progress::done(1);
        }
}

void RunDb::end_ranks() {
    if (std::exchange(ranks_ended_, true)) return;
    trees_.settle();
    run_files("ranks/");
}

CountedSteps RunDb::derive() {
    end_ranks();
    StepLengths(raw(), written_.ranks).stand_before_views(made_);
    CountedSteps basis(raw(), std::exchange(written_, {}), [&] {
        stand_before(kRunSteps, made_);
        stand_before(kUnknownWait, made_);
        run_files("fill/");
    });
    basis.stand_before_views(raw());
    run_files("derive/");
    for (const char* view : kReadByMetrics) stand_before(view, made_);
    run_files("metric/");
    for (const char* view : kReadByMetrics) leave_to(view, made_);
    derived_ = true;
    return basis;
}

std::set<int64_t> RunDb::numbers(const char* query) const {
    std::set<int64_t> all;
    Query row(raw(), "run", query);
    while (row.step()) all.insert(row.number(0));
    return all;
}

void RunDb::finish() {
    if (!derived_) derive();
    leave_to(kRunSteps, made_);
    leave_to(kUnknownWait, made_);
    StepLengths::leave_to_views(made_);
    CountedSteps::leave_to_views(raw());
    made_.run("PRAGMA application_id = " + std::to_string(kRunApplication));
    made_.run("COMMIT");
    made_.move_to_place();
}

bool is_run(const Database& base) {
    Query query = base.prepare("PRAGMA application_id");
    return query.step() && query.number(0) == kRunApplication;
}

}  // namespace gpushim::analysis
