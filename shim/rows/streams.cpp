#include "streams.h"

namespace gpushim::shim {
namespace {

constexpr uint64_t kPerThreadHandle = 2;

uint64_t default_key(uint32_t context, int64_t thread) {
    return uint64_t{context} << 32 | static_cast<uint32_t>(thread);
}

}  // namespace

void Streams::context(uint32_t number, Life& life) {
    if (number == 0) return;
    const auto [place, is_new] = contexts_.try_emplace(number);
    Context& context = place->second;
    if (!is_new && context.life_id == life.id) return;
    context = {&life, life.id, life.extra != kNull ? life.extra : only_device_};
    if (is_new) tables_.context.add({.id = number, .handle_id = life.id, .device_id = context.device});
}

Life* Streams::context_life(uint32_t number) const {
    const auto found = contexts_.find(number);
    if (found == contexts_.end()) return nullptr;
    Life* life = found->second.life;
    return life != nullptr && life->id == found->second.life_id ? life : nullptr;  // else it is forgotten
}

int64_t Streams::device(uint32_t context) const {
    const auto found = contexts_.find(context);
    return found == contexts_.end() ? only_device_ : found->second.device;
}

void Streams::born(Life& stream, uint32_t context, int64_t flags, int64_t priority) {
    stream.row_id = ++last_id_;
    tables_.stream.add({.id = stream.row_id,
                        .handle_id = stream.id,
                        .context_id = context == 0 ? kNull : int64_t{context},
                        .kind = tables_.stream.text("made"),
                        .flags = flags,
                        .priority = priority});
}

int64_t Streams::default_stream(const Use& use) {
    const bool own = use.handle == kPerThreadHandle || (use.handle == 0 && use.per_thread);
    const auto [place, is_new] = defaults_.try_emplace(default_key(use.context, own ? use.thread : 0));
    if (is_new) {
        place->second = ++last_id_;
        tables_.stream.add({.id = place->second,
                            .context_id = use.context == 0 ? kNull : int64_t{use.context},
                            .kind = tables_.stream.text(own ? "per_thread" : "legacy"),
                            .thread_id = own ? int64_t{use.thread} : kNull});
    }
    return place->second;
}

Life* Streams::life_of(const Use& use) {
    if (is_default(use.handle)) return nullptr;
    Life& life = handles_.at(Object::stream, use.handle, use.time_ns);
    if (life.row_id == kNull) born(life, use.context, kNull, kNull);
    return &life;
}

int64_t Streams::of(const Use& use) {
    if (is_default(use.handle)) return default_stream(use);
    Cached& cached = cached_[(use.handle >> 4 ^ use.handle >> 10) % kCached];
    if (cached.handle == use.handle && cached.life->id == cached.id && cached.life->is_at(use.time_ns))
        return cached.life->row_id;
    Life* life = life_of(use);
    cached = {use.handle, life, life->id};
    return life->row_id;
}

std::vector<int64_t> Streams::forget_thread(int64_t number) {
    std::vector<int64_t> rows;
    for (auto& [context, facts] : contexts_) {
        const auto own = defaults_.find(default_key(context, number));
        if (own == defaults_.end()) continue;
        rows.push_back(own->second);
        defaults_.erase(own);
    }
    return rows;
}

void Streams::load(Database& base) {
    Statement devices = base.prepare("SELECT count(*), min(id) FROM device");
    devices.step();
    if (devices.number(0) == 1) only_device_ = devices.number(1);
    devices.step();
    if (base.is_new()) return;

    std::unordered_map<int64_t, Life*> lives = handles_.by_id();
    Statement contexts = base.prepare("SELECT id, handle_id, device_id FROM context");
    while (contexts.step()) {
        const auto life = lives.find(contexts.number(1));
        contexts_[static_cast<uint32_t>(contexts.number(0))] = {life == lives.end() ? nullptr : life->second,
                                                                contexts.number(1), contexts.number(2)};
    }
    Statement streams = base.prepare("SELECT id, handle_id, context_id, thread_id FROM stream ORDER BY id");
    while (streams.step()) {
        last_id_ = streams.number(0);
        const auto life = lives.find(streams.number(1));
        if (life != lives.end()) {
            life->second->row_id = last_id_;
            continue;
        }
        const int64_t context = streams.number(2) == kNull ? 0 : streams.number(2);
        const int64_t thread = streams.number(3) == kNull ? 0 : streams.number(3);
        if (streams.number(1) == kNull)
            defaults_[default_key(static_cast<uint32_t>(context), thread)] = last_id_;
    }
}

}  // namespace gpushim::shim
