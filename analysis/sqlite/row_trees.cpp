#include "row_trees.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "database.h"

namespace gpushim::analysis {

namespace {

using Holds = TreeLayout::Holds;
using Index = TreeLayout::Index;

constexpr double kFewBytes = int64_t{1} << 47;  // reals that are whole numbers below it are kept as these

// Whether SQLite would keep it as it is; a real that is no number becomes NULL.
struct IsHeld {
    const TreeLayout::Column& column;
    bool operator()(std::nullptr_t) const { return column.may_be_null; }
    bool operator()(int64_t) const { return column.holds == Holds::numbers || column.holds == Holds::all; }
    bool operator()(double real) const {
        return (column.holds == Holds::reals || column.holds == Holds::all) && !std::isnan(real);
    }
    bool operator()(std::string_view) const {
        return column.holds == Holds::texts || column.holds == Holds::all;
    }
    bool operator()(BlobView) const { return true; }
};

struct AddTo {
    NewRecord& record;
    Holds holds;
    void operator()(std::nullptr_t) const { record.add_null(); }
    void operator()(int64_t number) const { record.add(number); }
    void operator()(double real) const {
        const bool is_short = holds == Holds::reals && std::abs(real) < kFewBytes && std::trunc(real) == real;
        is_short ? record.add(static_cast<int64_t>(real)) : record.add_real(real);
    }
    void operator()(std::string_view text) const { record.add(text); }
    void operator()(BlobView blob) const { record.add_blob(blob.bytes); }
};

bool is_empty(const NewDatabase& made, const std::string& table) {
    Query row(made.raw(), made.where(), "SELECT 1 FROM main.\"" + table + "\" LIMIT 1");
    return !row.step();
}

}  // namespace

size_t RowTrees::found(std::string_view table) const {
    size_t at = 0;
    while (at < tables_.size() && tables_[at].name != table) ++at;
    return at;
}

std::optional<int64_t> RowTrees::newest(std::string_view table) const {
    return has(table) ? std::optional(tables_[found(table)].newest) : std::nullopt;
}

size_t RowTrees::table(std::string_view name) {
    if (const size_t at = found(name); at < tables_.size()) return at;
    if (is_settled_) return kNoTree;
    const std::string text(name);
    auto layout = tree_layout(made_.raw(), made_.where(), text);
    if (!layout || !is_empty(made_, text)) return kNoTree;
    add_trees(tables_.emplace_back(Table{text, std::move(*layout)}));
    return tables_.size() - 1;
}

void RowTrees::add_trees(Table& table) {
    const TreeLayout& layout = table.layout;
    if (layout.root_page != 0) {
        Index all = {layout.root_page};
        for (size_t i = 0; i < layout.columns.size(); ++i) all.columns.push_back(i);
        table.trees.push_back({writer_.table(layout.root_page), std::move(all), true});
    }
    for (const Index& index : layout.indices) table.trees.push_back({writer_.index(index.root_page), index});
}

bool RowTrees::is_held(const Table& table, std::span<const PlainValue> row) {
    const auto& columns = table.layout.columns;
    if (row.size() != columns.size()) return false;
    for (size_t i = 0; i < row.size(); ++i)
        if (!std::visit(IsHeld{columns[i]}, row[i])) return false;
    return true;
}

// False as well for what is neither a number nor a text, which SQLite is to compare.
bool RowTrees::is_next(const Tree& tree, std::span<const PlainValue> row) {
    bool is_behind = tree.last.empty();
    for (size_t i = 0; i < tree.of.key_columns; ++i) {
        const size_t column = tree.of.columns[i];
        if (column == Index::kRowNumber) return true;  // they grow
        const auto* number = std::get_if<int64_t>(&row[column]);
        const auto* text = std::get_if<std::string_view>(&row[column]);
        if (number == nullptr && text == nullptr) return false;
        if (is_behind) continue;
        const KeyValue& last = tree.last[i];
        const auto order = number == nullptr ? (last.is_text ? *text <=> last.text : 1 <=> 0)
                                             : (last.is_text ? 0 <=> 1 : *number <=> last.number);
        if (order < 0) return false;
        is_behind = order > 0;
    }
    return is_behind || tree.of.key_columns == 0;
}

void RowTrees::keep_key(Tree& tree, std::span<const PlainValue> row) {
    tree.last.resize(tree.of.key_columns);
    for (size_t i = 0; i < tree.of.key_columns; ++i) {
        const size_t column = tree.of.columns[i];
        if (column == Index::kRowNumber) continue;
        KeyValue& last = tree.last[i];
        const auto* text = std::get_if<std::string_view>(&row[column]);
        last.is_text = text != nullptr;
        if (last.is_text)
            last.text = *text;
        else
            last.number = std::get<int64_t>(row[column]);
    }
}

void RowTrees::record_of(const Table& table, Tree& tree, std::span<const PlainValue> row) {
    tree.record.clear();
    for (const size_t column : tree.of.columns)
        if (column == Index::kRowNumber)
            tree.record.add(table.newest + 1);
        else if (const auto* number = std::get_if<int64_t>(&row[column]))  // as most are
            tree.record.add(*number);
        else
            std::visit(AddTo{tree.record, table.layout.columns[column].holds}, row[column]);
    tree.row = tree.record.bytes();
}

// In all of its trees, or in none.
bool RowTrees::put(Table& table, std::span<const PlainValue> row) {
    if (!is_held(table, row)) return false;
    for (Tree& tree : table.trees) {
        if (!is_next(tree, row)) return false;
        record_of(table, tree, row);
        const size_t most = tree.is_by_number ? TreeWriter::kLongestOfTable : TreeWriter::kLongestOfIndex;
        if (tree.row.size() > most) return false;
    }
    ++table.newest;
    for (Tree& tree : table.trees) {
        keep_key(tree, row);
        if (tree.is_by_number)
            writer_.add(tree.number, table.newest, tree.row);
        else
            writer_.add(tree.number, tree.row);
    }
    return true;
}

bool RowTrees::add(size_t table, std::span<const PlainValue> row) {
    if (failure_) std::rethrow_exception(failure_);
    if (is_settled_ || table == kNoTree) return false;
    if (!put(tables_[table], row)) {
        settle();
        return false;
    }
    if (writer_.waiting() >= most_waiting_) put_waiting();
    return true;
}

// Nobody is reading by a statement that is not at its end.
bool RowTrees::is_at_rest() const { return sqlite3_txn_state(made_.raw(), "main") == SQLITE_TXN_NONE; }

// What failed half way fails for all who write: there may be no transaction any more.
template <class Work>
void RowTrees::between_transactions(Work work) {
    try {
        made_.run("COMMIT");
        work();
        made_.run("BEGIN");
    } catch (...) {
        failure_ = std::current_exception();
        throw;
    }
}

void RowTrees::put_waiting() {
    between_transactions([&] {
        if (is_at_rest()) writer_.put_waiting();
    });
    most_waiting_ = writer_.waiting() + kMostWaiting;  // where somebody reads, later
}

void RowTrees::settle() {
    if (failure_) std::rethrow_exception(failure_);
    if (std::exchange(is_settled_, true) || tables_.empty()) return;
    between_transactions([&] {
        if (!is_at_rest()) throw std::logic_error("somebody reads the run whose rows are being written");
        writer_.finish();
    });
}

}  // namespace gpushim::analysis
