#include "keys.h"

#include <utility>

namespace gpushim::analysis {

namespace {

uint64_t joined(uint64_t a, uint64_t b) { return mixed(a + 0x9e3779b97f4a7c15U * (b + 1)) | 1; }

uint64_t lane_of(const Token& token) {
    return static_cast<uint64_t>(token.lane) * 8 + static_cast<uint64_t>(token.kind);
}

uint64_t of_kind(KeyKind kind, uint64_t value) { return joined(value, static_cast<uint64_t>(kind)); }

}  // namespace

// Of what a key does not need, nothing is found out.
inline Keys::Place Keys::next(const Token& token, KeyKind kind) {
    Place place = {0, 0, std::exchange(before_, token.kind)};
    if (token.kind == TokenKind::sync || (kind != KeyKind::exact && kind != KeyKind::pair)) return place;
    place.self = joined(static_cast<uint64_t>(token.hash), lane_of(token));
    if (kind == KeyKind::pair) place.before = std::exchange(before_on_lane_[token.lane], place.self);
    return place;
}

// A sync ends what was; what begins is the operation after it.
inline uint64_t Keys::key_of(const Token& token, const Place& place, KeyKind kind) {
    if (token.kind == TokenKind::sync) return 0;
    switch (kind) {
        case KeyKind::exact:
            return of_kind(kind, place.self);
        case KeyKind::name:
            if (token.name == 0 || token.name == token.hash) return 0;
            return of_kind(kind, joined(static_cast<uint64_t>(token.name), lane_of(token)));
        case KeyKind::pair:
            return place.before != 0 ? of_kind(kind, joined(place.self, place.before)) : 0;
        case KeyKind::input:
            return token.kind == TokenKind::copy_h2d && place.behind != TokenKind::copy_h2d ? of_kind(kind, 1)
                                                                                            : 0;
        case KeyKind::after_sync:
            return place.behind == TokenKind::sync ? of_kind(kind, 1) : 0;
    }
    return 0;
}

KeySet Keys::of(const Token& token) {
    const Place place = next(token, KeyKind::pair);  // which needs all
    KeySet set{};
    for (size_t kind = 0; kind < kKeyKinds; ++kind)
        set.key[kind] = key_of(token, place, static_cast<KeyKind>(kind));
    return set;
}

uint64_t Keys::of(const Token& token, KeyKind kind) { return key_of(token, next(token, kind), kind); }

}  // namespace gpushim::analysis
