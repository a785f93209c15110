#include "union_table.h"

#include <sqlite3.h>

#include <cstring>

#include "../failure.h"

namespace gpushim::analysis {

namespace {

constexpr int kOwnColumns = 2;  // trace, rank
constexpr double kRowsOfATrace = 1e6;

std::string identifier(std::string_view name) {
    std::string text = "\"";
    for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + "\"";
}

struct Table : sqlite3_vtab {
    std::span<const Trace> traces;
    std::string name;
    std::vector<std::string> columns;
    void say(const std::string& what) {
        sqlite3_free(zErrMsg);
        zErrMsg = sqlite3_mprintf("%s", what.c_str());
    }
};

struct Cursor : sqlite3_vtab_cursor {
    Table* table;
    size_t trace = 0;
    std::string sql;
    std::vector<Value> parameters;
    std::optional<int64_t> only_trace;
    std::optional<Query> query;
    int64_t row = 0;

    void open_trace() {
        query.reset();
        if (trace >= table->traces.size()) return;
        query.emplace(table->traces[trace].base.prepare(sql));
        for (size_t i = 0; i < parameters.size(); ++i) query->bind(static_cast<int>(i) + 1, parameters[i]);
    }
    bool wanted() const { return !only_trace || *only_trace == static_cast<int64_t>(trace) + 1; }
    void next() {
        while (trace < table->traces.size()) {
            if (wanted()) {
                if (!query) open_trace();
                if (query->step()) return void(++row);
            }
            ++trace;
            query.reset();
        }
    }
};

// SQLite is C: whatever is thrown ends here, as the table's error.
template <class Body>
int guarded(Table& table, Body body) {
    try {
        body();
        return SQLITE_OK;
    } catch (const std::exception& error) {
        table.say(error.what());
        return SQLITE_ERROR;
    }
}

int connect(sqlite3* base, void* traces, int, const char* const* words, sqlite3_vtab** made, char** error) {
    auto* table = new Table{};
    table->traces = *static_cast<std::span<const Trace>*>(traces);
    table->name = words[2];
    const int code = guarded(*table, [&] {
        Query query = table->traces[0].base.prepare("SELECT * FROM " + identifier(table->name) + " LIMIT 0");
        std::string declaration, own = "trace INTEGER, rank INTEGER";
        for (int i = 0; i < query.columns(); ++i) {
            table->columns.push_back(query.column_name(i));
            if (table->columns.back() == "rank") own = "trace INTEGER, trace_rank INTEGER";
            declaration += ", " + identifier(table->columns.back()) + " " + query.column_type(i);
        }
        declaration = "CREATE TABLE t(" + own + declaration + ")";
        if (sqlite3_declare_vtab(base, declaration.c_str()) != SQLITE_OK) throw Failure(sqlite3_errmsg(base));
    });
    if (code == SQLITE_OK) {
        *made = table;
    } else {
        *error = table->zErrMsg;
        delete table;
    }
    return code;
}

int disconnect(sqlite3_vtab* table) {
    delete static_cast<Table*>(table);
    return SQLITE_OK;
}

const char* operator_text(unsigned char op) {
    switch (op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
            return "=";
        case SQLITE_INDEX_CONSTRAINT_GT:
            return ">";
        case SQLITE_INDEX_CONSTRAINT_GE:
            return ">=";
        case SQLITE_INDEX_CONSTRAINT_LT:
            return "<";
        case SQLITE_INDEX_CONSTRAINT_LE:
            return "<=";
        default:
            return nullptr;
    }
}

// A bit for each of the first 63 columns; the last bit stands for all further ones.
bool is_used(const sqlite3_index_info& info, int column) {
    return (info.colUsed >> (column < 63 ? column : 63) & 1) != 0;
}

// The statement that each trace is asked, for the conditions that the plan has. What is not used is not
// computed: the views leave out the joins then.
std::string statement(const Table& table, sqlite3_index_info* info, bool& by_trace) {
    std::string columns, conditions;
    for (size_t i = 0; i < table.columns.size(); ++i)
        columns +=
            (i != 0 ? ", " : "") +
            (is_used(*info, static_cast<int>(i) + kOwnColumns) ? identifier(table.columns[i]) : "NULL");
    int argument = 0;
    for (int pass = 0; pass < 2; ++pass) {  // the trace comes first, so that the others are numbered from it
        for (int i = 0; i < info->nConstraint; ++i) {
            const auto& constraint = info->aConstraint[i];
            const char* op = operator_text(constraint.op);
            if (!constraint.usable || op == nullptr) continue;
            if (pass == 0 && !by_trace && constraint.iColumn == 0 &&
                constraint.op == SQLITE_INDEX_CONSTRAINT_EQ) {
                by_trace = true;
                info->aConstraintUsage[i].argvIndex = ++argument;
            } else if (pass == 1 && constraint.iColumn >= kOwnColumns) {
                info->aConstraintUsage[i].argvIndex = ++argument;
                conditions +=
                    (conditions.empty() ? " WHERE " : " AND ") +
                    identifier(table.columns[static_cast<size_t>(constraint.iColumn - kOwnColumns)]) + " " +
                    op + " ?" + std::to_string(argument - (by_trace ? 1 : 0));
            }
        }
    }
    info->estimatedCost = kRowsOfATrace / (1 + argument * 100);
    return "SELECT " + columns + " FROM " + identifier(table.name) + conditions;
}

int best_index(sqlite3_vtab* base, sqlite3_index_info* info) {
    auto& table = *static_cast<Table*>(base);
    return guarded(table, [&] {
        bool by_trace = false;
        const std::string sql = statement(table, info, by_trace);
        info->idxNum = by_trace ? 1 : 0;
        info->idxStr = sqlite3_mprintf("%s", sql.c_str());
        info->needToFreeIdxStr = 1;
    });
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** made) {
    auto* cursor = new Cursor{};
    cursor->table = static_cast<Table*>(table);
    *made = cursor;
    return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
    delete static_cast<Cursor*>(cursor);
    return SQLITE_OK;
}

Value value_of(sqlite3_value* value) {
    const auto size = static_cast<size_t>(sqlite3_value_bytes(value));
    switch (sqlite3_value_type(value)) {
        case SQLITE_INTEGER:
            return sqlite3_value_int64(value);
        case SQLITE_FLOAT:
            return sqlite3_value_double(value);
        case SQLITE_TEXT:
            return std::string(reinterpret_cast<const char*>(sqlite3_value_text(value)), size);
        case SQLITE_BLOB:
            return Blob{std::string(static_cast<const char*>(sqlite3_value_blob(value)), size)};
        default:
            return nullptr;
    }
}

int filter(sqlite3_vtab_cursor* base, int by_trace, const char* sql, int count, sqlite3_value** values) {
    auto& cursor = *static_cast<Cursor*>(base);
    return guarded(*cursor.table, [&] {
        cursor.query.reset();
        cursor.trace = 0;
        cursor.row = 0;
        cursor.sql = sql;
        cursor.only_trace.reset();
        if (by_trace != 0) cursor.only_trace = sqlite3_value_int64(values[0]);
        cursor.parameters.clear();
        for (int i = by_trace; i < count; ++i) cursor.parameters.push_back(value_of(values[i]));
        cursor.next();
    });
}

int next(sqlite3_vtab_cursor* base) {
    auto& cursor = *static_cast<Cursor*>(base);
    return guarded(*cursor.table, [&] { cursor.next(); });
}

int at_end(sqlite3_vtab_cursor* base) {
    const auto& cursor = *static_cast<Cursor*>(base);
    return cursor.trace >= cursor.table->traces.size();
}

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int column) {
    const auto& cursor = *static_cast<Cursor*>(base);
    const Trace& trace = cursor.table->traces[cursor.trace];
    if (column == 0)
        sqlite3_result_int64(context, static_cast<int64_t>(cursor.trace) + 1);
    else if (column < kOwnColumns && trace.rank)
        sqlite3_result_int64(context, *trace.rank);
    else if (column >= kOwnColumns)
        sqlite3_result_value(context, sqlite3_column_value(cursor.query->raw(), column - kOwnColumns));
    return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* base, sqlite3_int64* id) {
    *id = static_cast<Cursor*>(base)->row;
    return SQLITE_OK;
}

const sqlite3_module& module() {
    static const sqlite3_module made = [] {
        sqlite3_module calls = {};
        calls.xCreate = calls.xConnect = connect;
        calls.xDisconnect = calls.xDestroy = disconnect;
        calls.xBestIndex = best_index;
        calls.xOpen = open_cursor;
        calls.xClose = close_cursor;
        calls.xFilter = filter;
        calls.xNext = next;
        calls.xEof = at_end;
        calls.xColumn = column;
        calls.xRowid = row_id;
        return calls;
    }();
    return made;
}

void list_traces(const Database& all, std::span<const Trace> traces) {
    all.run(
        "CREATE TABLE traces (trace INTEGER PRIMARY KEY, rank INTEGER, pid INTEGER, host TEXT, file TEXT)");
    int64_t number = 0;
    for (const Trace& trace : traces) {
        Query insert = all.prepare("INSERT INTO traces VALUES (?1, ?2, ?3, ?4, ?5)");
        insert.bind(1, ++number);
        insert.bind(2, trace.rank ? Value(*trace.rank) : Value(nullptr));
        insert.bind(3, trace.pid);
        insert.bind(4, trace.host);
        insert.bind(5, trace.path.string());
        insert.step();
    }
}

}  // namespace

Database unite(std::span<const Trace> traces) {
    Database all = Database::in_memory();
    auto* shared = new std::span<const Trace>(traces);
    sqlite3_create_module_v2(all.raw(), "of_all_traces", &module(), shared,
                             [](void* span) { delete static_cast<std::span<const Trace>*>(span); });
    Query names = traces[0].base.prepare(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER "
        "BY name");
    while (names.step()) {
        const std::string name = identifier(names.text(0));
        all.run("CREATE VIRTUAL TABLE " + name + " USING of_all_traces");
    }
    list_traces(all, traces);
    all.run("PRAGMA query_only = ON");
    return all;
}

}  // namespace gpushim::analysis
