#include "instance_list.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kPieceParts = 4096;  // half a megabyte; an instance is in one piece

// By it a part is found again.
int64_t tag_of(uint32_t piece, uint32_t part) { return static_cast<int64_t>(uint64_t{piece} << 32 | part); }

}  // namespace

void InstanceList::reserve(size_t instances) {
    heads_.reserve(instances);
    places_.reserve(instances);
}

void InstanceList::add(const CollectiveInstance& instance, std::span<const CommCall* const> calls) {
    if (pieces_.empty() || pieces_.back().size() >= kPieceParts) {
        put();
        pieces_.emplace_back();
    }
    AsideArray<Part>& piece = pieces_.back();
    places_.push_back({static_cast<uint32_t>(pieces_.size() - 1), static_cast<uint32_t>(piece.size()),
                       static_cast<uint32_t>(calls.size())});
    for (size_t i = 0; i < calls.size(); ++i) {
        Part part = {*calls[i], instance.parts[i].rank};
        part.call.call.device = instance.parts[i].device;
        piece.push_back(part);
    }
    heads_.push_back(instance);
    std::vector<RankPart>().swap(heads_.back().parts);
}

void InstanceList::put() {
    if (aside_ != nullptr && !pieces_.empty()) pieces_.back().put(*aside_);
}

const CommCall& InstanceList::call(const RankPart& part) const {
    const auto tag = static_cast<uint64_t>(part.tag);
    return pieces_[tag >> 32][tag & UINT32_MAX].call;
}

void InstanceList::make(size_t i, CollectiveInstance& into) const {
    std::vector<RankPart> parts = std::move(into.parts);
    parts.clear();
    const Place& place = places_[i];
    const AsideArray<Part>& piece = pieces_[place.piece];
    for (uint32_t part = place.first; part < place.first + place.count; ++part)
        parts.push_back({piece[part].rank, piece[part].call.call.device, tag_of(place.piece, part)});
    into = heads_[i];
    into.parts = std::move(parts);
    if (aside_ != nullptr) aside_->count_read(into.parts.size() * sizeof(Part));
}

CollectiveInstance InstanceList::operator[](size_t i) const {
    CollectiveInstance instance;
    make(i, instance);
    return instance;
}

InstanceList::Iterator::Iterator(const InstanceList& list, size_t at) : list_(&list), at_(at) { read(); }

InstanceList::Iterator& InstanceList::Iterator::operator++() {
    ++at_;
    read();
    return *this;
}

void InstanceList::Iterator::read() {
    if (at_ < list_->size()) list_->make(at_, now_);
}

}  // namespace gpushim::analysis
