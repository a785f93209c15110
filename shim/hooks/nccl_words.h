// Words (words.h) of NCCL's calls.
#pragma once

#include <nccl.h>

#include "../calls/newer_nccl.h"
#include "../calls/questions.h"
#include "words.h"

namespace gpushim::shim::words {

// Part of a communicator's name in every process that takes part in it: never to change.
inline uint64_t hash_bytes(const void* bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
    return hash;
}

// datatype | reduction << 8 | root or peer << 32; N = 0: the call has none.
template <size_t Datatype, size_t Reduction, size_t Root>
struct pack {
    template <class A>
    static uint64_t take(const A& a, bool) {
        uint64_t word = number(std::get<Datatype>(a)) & 0xff;
        if constexpr (Reduction != 0) word |= (number(std::get<Reduction>(a)) & 0xffffff) << 8;
        if constexpr (Root != 0) word |= number(std::get<Root>(a)) << 32;
        return word;
    }
};

template <size_t Rank, size_t Ranks>
struct rank_of {
    template <class A>
    static uint64_t take(const A& a, bool) {
        return number(std::get<Rank>(a)) | number(std::get<Ranks>(a)) << 32;
    }
};

template <size_t Ranks>
struct rank_of_item {
    template <class A>
    static uint64_t take(const A& a, bool, size_t i) {
        return i | number(std::get<Ranks>(a)) << 32;
    }
};

// Communicators made together within one process have no unique id that we see: the first one's handle is it.
template <size_t N>
struct first_item {
    template <class A>
    static uint64_t take(const A& a, bool, size_t) {
        const uint64_t first = number(std::get<N>(a)[0]);
        return hash_bytes(&first, sizeof first);
    }
};

// Without a list, the devices are the first ones.
template <size_t N>
struct device_item {
    template <class A>
    static uint64_t take(const A& a, bool, size_t i) {
        const int* devices = std::get<N>(a);
        return devices != nullptr ? number(devices[i]) : i;
    }
};

template <size_t N>
struct hash {
    template <class A>
    static uint64_t take(const A& a, bool) {
        return hash_bytes(&std::get<N>(a), sizeof std::get<N>(a));
    }
};

template <size_t List, size_t Count>
struct hash_all {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        const auto* list = std::get<List>(a);
        if (!succeeded || list == nullptr) return 0;
        return hash_bytes(list, static_cast<size_t>(std::get<Count>(a)) * sizeof *list);
    }
};

// The unique id by which new ranks come to a communicator that grows. Who was in it knows none, and the one
// that does goes by its parent, as the others do.
template <size_t Parent, size_t Id>
struct joined {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        const auto* id = std::get<Id>(a);
        if (!succeeded || id == nullptr || std::get<Parent>(a) != nullptr) return 0;
        return hash_bytes(id, sizeof *id);
    }
};

// Of a communicator just made from another: its rank and ranks, where NCCL knows them already; else 0.
template <size_t N>
struct asked_rank {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        const auto* place = std::get<N>(a);
        return succeeded && place != nullptr && *place != nullptr ? rank_and_ranks(*place) : 0;
    }
};

}  // namespace gpushim::shim::words
