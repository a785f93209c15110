#include "communicators.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

#include "../calls/api.h"
#include "../schema/flags.h"

namespace gpushim::shim {
namespace {

// By ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, float16, 32, 64, bfloat16, float8 of two
// kinds.
constexpr int64_t kDtypeBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

uint64_t hash_of(uint64_t parent, uint64_t nth, uint64_t what) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const uint64_t word : {parent, nth, what})
        for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ (word >> shift & 0xff)) * 0x100000001b3;
    return hash;
}

std::string text_of(uint64_t uid) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(uid));
    return text;
}

bool has_trait(int64_t api, uint32_t trait) {
    return api >= 0 && api < kApis && (api_traits[api].traits & trait) != 0;
}

}  // namespace

int64_t dtype_bytes(int64_t dtype) {
    return dtype >= 0 && dtype < std::ssize(kDtypeBytes) ? kDtypeBytes[dtype] : kNull;
}

void Communicators::born(Life& life, const Birth& birth) {
    const int64_t parent_row = birth.parent != nullptr ? row(*birth.parent) : kNull;
    life.row_id = ++last_id_;
    Communicator& made = known_[life.row_id];
    made.uid = birth.hash;
    made.rank = birth.rank;
    if (birth.parent != nullptr) {
        const Communicator& parent = known_[parent_row];
        made.uid = hash_of(parent.uid, static_cast<uint64_t>(parent.splits), birth.hash);
    }
    tables_.communicator.add({.id = life.row_id,
                              .uid = tables_.communicator.text(text_of(made.uid)),
                              .handle_id = life.id,
                              .device_id = birth.device,
                              .rank = birth.rank,
                              .ranks = birth.ranks,
                              .parent_id = parent_row});
}

void Communicators::split(Life& parent) { ++of(parent).splits; }

Communicators::Communicator& Communicators::of(Life& life) {
    if (life.row_id == kNull) born(life, {kNull, kNull, life.handle, kNull, nullptr});
    return known_[life.row_id];
}

int64_t Communicators::row(Life& communicator) {
    of(communicator);
    return communicator.row_id;
}

int64_t Communicators::next(Life& communicator, int64_t peer, bool sends) {
    const Counter counter = {row(communicator), peer, sends};
    counted_.insert(counter);
    return ++counts_[counter];
}

int64_t Communicators::next_of_collectives(Life& communicator) { return next(communicator, kNoPeer, false); }

int64_t Communicators::next_between(Life& communicator, int64_t peer, bool sends) {
    return next(communicator, peer, sends);
}

void Communicators::add_counts() {
    for (const Counter& counter : counted_) {
        const auto& [row, peer, sends] = counter;
        tables_.collective_seq.add(
            {.communicator_id = row, .peer = peer, .sends = sends ? 1 : 0, .seq = counts_[counter]});
    }
    counted_.clear();
}

void Communicators::load(Database& base) {
    auto lives = handles_.by_id();
    std::unordered_map<int64_t, int64_t> rows_of_handles;
    Statement rows =
        base.prepare("SELECT id, uid, handle_id, coalesce(rank, -1) FROM communicator ORDER BY id");
    while (rows.step()) {
        last_id_ = rows.number(0);
        known_[last_id_].uid = std::strtoull(rows.text(1).c_str(), nullptr, 16);
        known_[last_id_].rank = rows.number(3) < 0 ? kNull : rows.number(3);
        rows_of_handles[rows.number(2)] = last_id_;
        const auto life = lives.find(rows.number(2));
        if (life != lives.end()) life->second->row_id = last_id_;
    }
    Statement calls = base.prepare(
        "SELECT k.target_id, k.api_id, count(*) FROM call k JOIN api a ON a.id = k.api_id"
        " WHERE a.kind = 'communicator' AND " +
        kSucceeded.sql("k") + " GROUP BY 1, 2");
    while (calls.step())
        if (has_trait(calls.number(1), traits::splits))
            known_[rows_of_handles[calls.number(0)]].splits += calls.number(2);
    Statement counts = base.prepare("SELECT communicator_id, peer, sends, seq FROM collective_seq");
    while (counts.step())
        counts_[{counts.number(0), counts.number(1), counts.number(2) != 0}] = counts.number(3);
}

}  // namespace gpushim::shim
