#include "interned.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "../calls/api.h"

namespace gpushim::shim {
namespace {

constexpr std::string_view kOther = "(other)";
constexpr size_t kLongestMangled = 16384;  // the demangler's time grows faster than the name
constexpr size_t kLongestReadable = 16384;

std::string demangled(const std::string& text) {
    if (!text.starts_with("_Z") || text.size() > kLongestMangled) return {};
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), std::free);
    return status == 0 && name != nullptr && std::strlen(name.get()) <= kLongestReadable ? name.get() : "";
}

int64_t or_null(uint64_t value) { return value == 0 ? kNull : static_cast<int64_t>(value); }
uint64_t or_zero(int64_t value) { return value == kNull ? 0 : static_cast<uint64_t>(value); }

}  // namespace

void Names::note(std::string_view text) {
    if (text.starts_with("ncclDevKernel") || text.starts_with("ncclKernel")) of_nccl_.insert(last_id_);
}

// Of `share` parts of all places.
bool Names::has_place(size_t share) const {
    return ids_.size() < most_.texts / share && bytes_ < most_.bytes / share;
}

int64_t Names::add(std::string_view text) {
    const auto place = ids_.try_emplace(std::string(text), ++last_id_).first;
    const std::string readable = demangled(place->first);
    tables_.name.add({.id = last_id_,
                      .text = tables_.name.text(text),
                      .demangled = readable.empty() ? kNull : tables_.name.text(readable)});
    bytes_ += text.size() + readable.size();
    note(text);
    return last_id_;
}

int64_t Names::other() {
    const auto found = ids_.find(kOther);
    return found != ids_.end() ? found->second : add(kOther);
}

int64_t Names::id(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    if (has_place(1)) return add(text);
    ++left_out_;
    return other();
}

int64_t Names::id_of_said(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    if (has_place(2)) return add(text);
    ++left_out_;
    return family(text);
}

// Without the number at its end.
int64_t Names::family(std::string_view text) {
    const size_t end = text.find_last_not_of("0123456789");
    if (end == std::string_view::npos || end + 1 == text.size()) return other();
    const std::string all = std::string(text.substr(0, end + 1)) + "…";
    const auto found = ids_.find(all);
    if (found != ids_.end()) return found->second;
    return has_place(1) ? add(all) : other();
}

void Names::load(Database& base) {
    Statement rows = base.prepare(
        "SELECT id, text, length(CAST(text AS BLOB)) + coalesce(length(CAST(demangled AS BLOB)), 0) FROM name"
        " ORDER BY id");
    while (rows.step()) {
        last_id_ = rows.number(0);
        bytes_ += static_cast<size_t>(rows.number(2));
        note(ids_.try_emplace(rows.text(1), last_id_).first->first);
    }
}

int64_t Apis::id(uint16_t api) {
    if (api >= kApis) return kNull;
    if (there_[api]) return api;
    there_[api] = true;
    const ApiTraits& traits = api_traits[api];
    auto& rows = tables_.api;
    rows.add({.id = api,
              .name = rows.text(traits.name),
              .base = rows.text(traits.base),
              .kind = rows.text(traits.kind_name)});
    return api;
}

void Apis::load(Database& base) {
    static_assert(kApis <= std::tuple_size_v<decltype(there_)>);
    Statement rows = base.prepare("SELECT id FROM api");
    while (rows.step()) there_[static_cast<size_t>(rows.number(0)) % there_.size()] = true;
}

size_t Shapes::Hash::operator()(const Shape& shape) const {
    uint64_t hash = static_cast<uint64_t>(shape.handle_id) * 0x9e3779b97f4a7c15;
    for (const uint64_t word : {shape.grid, shape.block, shape.cluster, shape.attributes})
        hash = (hash ^ word) * 0xff51afd7ed558ccd, hash ^= hash >> 32;
    return hash ^ static_cast<uint64_t>(shape.api);
}

int64_t Shapes::id(const Shape& shape) {
    if (const auto found = ids_.find(shape); found != ids_.end()) return found->second;
    if (ids_.size() < most_) return add(shape);
    ++left_out_;
    Shape alike = {shape.handle_id, shape.api, 0, 0, 0, 0};
    if (const auto found = ids_.find(alike); found != ids_.end()) return found->second;
    if (ids_.size() < most_ + most_ / 2) return add(alike);
    alike.handle_id = kNull;
    const auto found = ids_.find(alike);
    return found != ids_.end() ? found->second : add(alike);
}

void Shapes::remember(const Shape& shape, int64_t id) {
    shapes_[id] = &ids_.try_emplace(shape, id).first->first;
}

void Shapes::forget(int64_t id) {
    const auto found = shapes_.find(id);
    if (found == shapes_.end()) return;
    ids_.erase(*found->second);
    shapes_.erase(found);
}

int64_t Shapes::add(const Shape& shape) {
    remember(shape, ++last_id_);
    const uint64_t grid = shape.grid, block = shape.block, cluster = shape.cluster;
    const bool known = grid != 0 || block != 0;
    const auto part = [](bool there, uint64_t word, int shift, uint64_t mask) {
        return there ? static_cast<int64_t>(word >> shift & mask) : kNull;
    };
    tables_.shape.add({.id = last_id_,
                       .handle_id = shape.handle_id,
                       .api_id = shape.api,
                       .grid_x = part(known, grid, 0, 0xffffffff),
                       .grid_y = part(known, grid, 32, 0xffff),
                       .grid_z = part(known, grid, 48, 0xffff),
                       .block_x = part(known, block, 0, 0x7ff),
                       .block_y = part(known, block, 11, 0x7ff),
                       .block_z = part(known, block, 22, 0x7f),
                       .shared_bytes = part(known, block, 32, 0xffffffff),
                       .cluster_x = part(cluster != 0, cluster, 0, 0xffff),
                       .cluster_y = part(cluster != 0, cluster, 16, 0xffff),
                       .cluster_z = part(cluster != 0, cluster, 32, 0xffff),
                       .attributes = or_null(shape.attributes)});
    return last_id_;
}

void Shapes::load(Database& base) {
    Statement rows = base.prepare(
        "SELECT id, handle_id, api_id, grid_x | (grid_y << 32) | (grid_z << 48),"
        " block_x | (block_y << 11) | (block_z << 22) | (shared_bytes << 32),"
        " cluster_x | (cluster_y << 16) | (cluster_z << 32), attributes FROM shape ORDER BY id");
    while (rows.step()) {
        last_id_ = rows.number(0);
        remember(Shape{rows.number(1), rows.number(2), or_zero(rows.number(3)), or_zero(rows.number(4)),
                       or_zero(rows.number(5)), or_zero(rows.number(6))},
                 last_id_);
    }
}

}  // namespace gpushim::shim
