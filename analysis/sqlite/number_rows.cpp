#include "number_rows.h"

#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "plain_layout.h"

namespace gpushim::analysis {

namespace {

// What a number in a record's header says of a value (https://www.sqlite.org/fileformat2.html).
enum Serial : uint64_t { null = 0, eight_bytes = 6, real = 7, one = 9, words = 12 };
constexpr uint8_t kBytes[words] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

uint64_t bytes_of(uint64_t serial) { return serial < words ? kBytes[serial] : (serial - words) / 2; }

int64_t whole_number(const uint8_t* at, uint64_t bytes) {
    const auto first = static_cast<int64_t>(static_cast<int8_t>(at[0]));
    if (bytes == 1) return first;
    if (bytes == 2) return first * 256 + at[1];
    auto value = static_cast<uint64_t>(first);
    for (uint64_t i = 1; i < bytes; ++i) value = value << 8 | at[i];
    return static_cast<int64_t>(value);
}

// Eight bytes less so many bits, which may go on behind the row: pages have room behind them.
int64_t top_bits(const uint8_t* at, uint8_t shift) {
    static_assert(std::endian::native == std::endian::little);
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return static_cast<int64_t>(__builtin_bswap64(value)) >> shift;
}

// As SQLite casts them.
int64_t number_of_real(const uint8_t* at) {
    constexpr double kMost = 9223372036854774784.0;
    const auto value = std::bit_cast<double>(whole_number(at, 8));
    if (!(value >= -kMost)) return value < 0 ? INT64_MIN : 0;
    return value > kMost ? INT64_MAX : static_cast<int64_t>(value);
}

std::string sql_of(const Database& base, const std::string& table, const std::string& key,
                   const std::vector<std::string>& columns) {
    const auto there = base.columns_of(table);
    std::string sql = "SELECT \"" + key + "\"";
    for (const std::string& column : columns)
        sql += there.contains(column) ? ", \"" + column + "\"" : ", NULL";
    return sql + " FROM \"" + table + "\" WHERE \"" + key + "\" >= ?1 ORDER BY 1";
}

}  // namespace

NumberRows::NumberRows(const Database& base, const std::string& table, const std::string& key,
                       const std::vector<std::string>& columns, int64_t first_key)
    : pages_(TablePages::open(base, table, key, first_key)), columns_(columns.size()) {
    if (!pages_) {
        query_.emplace(base.prepare(sql_of(base, table, key, columns)));
        query_->bind(1, first_key);
        return;
    }
    for (const std::string& place : base.plain_layout(table)->columns) {
        const auto found = std::find(columns.begin(), columns.end(), place);
        asked_.push_back(found == columns.end() ? kUnasked : static_cast<uint8_t>(found - columns.begin()));
    }
    while (!asked_.empty() && asked_.back() == kUnasked) asked_.pop_back();
}

bool NumberRows::next_record(NumberRow& row) {
    Record record;
    if (!pages_->next(record)) return false;
    row.key = record.key;
    row.text = {};
    const Plan& plan = plan_of(record);
    had_plan_ = false;
    if (plan.header_bytes == 0 || plan.bytes > record.end - record.begin) {
        row.present = 0;
        row.numbers = {};
        read(record, row);
        return true;
    }
    had_plan_ = true;
    row.present = plan.present;
    row.numbers = plan.without_value;
    const uint8_t* const values = record.begin + plan.header_bytes;
    for (size_t i = 0; i < plan.count; ++i) {
        const Plan::Number& number = plan.numbers[i];
        row.numbers[number.column] = top_bits(values + number.from, number.shift);
    }
    return true;
}

// Where a header says all numbers that are asked for: 0, 1 and NULL have no bytes behind it.
size_t NumberRows::pass_alike() {
    const Plan& plan = plans_[last_plan_];
    if (!had_plan_ || plan.count != 0) return 0;
    return pages_->pass_while([&plan](const Record& record) {
        return plan.bytes <= record.end - record.begin &&
               (bytes_from(record.begin) & plan.mask) == plan.header;
    });
}

const NumberRows::Plan& NumberRows::plan_of(const Record& record) {
    const Header bytes = bytes_from(record.begin);
    const Plan& last = plans_[last_plan_];
    if (last.header_bytes != 0 && (bytes & last.mask) == last.header) return last;
    static const Plan kNone;
    const size_t whole = static_cast<size_t>(record.end - record.begin), header_bytes = bytes.front & 0xff;
    if (whole == 0 || header_bytes == 0 || header_bytes > Plan::kLongest || header_bytes > whole)
        return kNone;
    const Header header = bytes & mask_of(header_bytes);
    last_plan_ = header.mixed();
    Plan& plan = plans_[last_plan_];
    if (!(plan.header == header)) make_plan(record, header_bytes, plan);
    return plan;
}

NumberRows::Header NumberRows::bytes_from(const uint8_t* begin) {
    static_assert(TablePages::kRoomBehind >= sizeof(Header) && Plan::kLongest == sizeof(Header));
    static_assert(std::endian::native == std::endian::little);
    Header header;
    std::memcpy(&header, begin, sizeof header);
    return header;
}

NumberRows::Header NumberRows::mask_of(size_t bytes) {
    constexpr size_t kHalf = sizeof(uint64_t);
    const auto first = [](size_t count) {
        return count >= kHalf ? UINT64_MAX : (uint64_t{1} << 8 * count) - 1;
    };
    return {first(bytes), first(bytes - std::min(bytes, kHalf))};
}

// None where it has more than whole numbers and NULLs, or where it is not clear what it has.
void NumberRows::make_plan(const Record& record, size_t header_bytes, Plan& plan) const {
    plan = {};
    size_t from = 0;
    for (size_t place = 0; place + 1 < header_bytes && place < asked_.size(); ++place) {
        const uint8_t serial = record.begin[place + 1];
        const uint8_t column = asked_[place];
        if (serial >= 0x80 || serial == 10 || serial == 11) return;
        if (column != kUnasked && (serial == real || serial >= words)) return;
        if (column != kUnasked && serial != null) {
            const uint64_t bits = 8 * bytes_of(serial);
            if (bits != 0)
                plan.numbers[plan.count++] = {column, static_cast<uint8_t>(from),
                                              static_cast<uint8_t>(64 - bits)};
            plan.without_value[column] = serial == one;
            plan.present |= 1U << column;
        }
        from += bytes_of(serial);
    }
    if (header_bytes + from > UINT8_MAX) return;
    plan.bytes = static_cast<uint8_t>(header_bytes + from);
    plan.mask = mask_of(header_bytes);
    plan.header = bytes_from(record.begin) & plan.mask;
    plan.header_bytes = static_cast<uint8_t>(header_bytes);
}

void NumberRows::read(const Record& record, NumberRow& row) const {
    uint64_t header_bytes = 0, serial = 0;
    const uint8_t* header = read_varint(record.begin, record.end, header_bytes);
    if (header == nullptr || header_bytes > static_cast<uint64_t>(record.end - record.begin))
        pages_->damaged();
    const uint8_t* const values = record.begin + header_bytes;
    const uint8_t* at = values;
    for (size_t place = 0; place < asked_.size() && header < values; ++place) {
        serial = *header;
        if (serial < 0x80)
            ++header;
        else if ((header = read_varint(header, values, serial)) == nullptr)
            pages_->damaged();
        const uint64_t bytes = bytes_of(serial);
        if (bytes > static_cast<uint64_t>(record.end - at)) pages_->damaged();
        const uint8_t* const value = at;
        at += bytes;
        const size_t column = asked_[place];
        if (column == kUnasked || serial == null) continue;
        row.present |= 1U << column;
        if (serial <= eight_bytes)
            row.numbers[column] = whole_number(value, bytes);
        else if (serial == one)
            row.numbers[column] = 1;
        else if (serial == real)
            row.numbers[column] = number_of_real(value);
        else if (serial > words && serial % 2 == 1)
            row.text = {reinterpret_cast<const char*>(value), static_cast<size_t>(bytes)};
    }
}

bool NumberRows::next_of_query(NumberRow& row) {
    if (!query_->step()) return false;
    sqlite3_stmt* statement = query_->raw();
    row = {};
    row.key = query_->number(0);
    for (size_t i = 0; i < columns_; ++i) {
        const int column = static_cast<int>(i) + 1;
        const int type = sqlite3_column_type(statement, column);
        if (type == SQLITE_NULL) continue;
        const bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        row.set(i, is_number ? sqlite3_column_int64(statement, column) : 0);
        if (type == SQLITE_TEXT)
            row.text = {reinterpret_cast<const char*>(sqlite3_column_text(statement, column)),
                        static_cast<size_t>(sqlite3_column_bytes(statement, column))};
    }
    return true;
}

}  // namespace gpushim::analysis
