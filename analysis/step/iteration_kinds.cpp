// What each iteration of a server holds, and so what kind it is.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "fed.h"
#include "iterations.h"
#include "keys.h"

namespace gpushim::analysis {

namespace {

// A prompt's tokens are many rows where a decode's are one: kernels that both launch have larger grids.
class Grids {
  public:
    void add(const Token& token) {
        if (token.kind != TokenKind::kernel || token.blocks <= 0) return;
        Grid& grid = now_[name_of(token)];
        ++grid.launches;
        grid.blocks += token.blocks;
    }
    // The step ends: whether the one before it was larger by far.
    bool was_larger() {
        constexpr int64_t kTimes = 4;
        int64_t same = 0, larger = 0;
        for (const auto& [name, grid] : now_) {
            const auto before = before_.find(name);
            if (before == before_.end()) continue;
            const int64_t launches = std::min(grid.launches, before->second.launches);
            same += launches;
            if (before->second.average() >= kTimes * grid.average()) larger += launches;
        }
        before_ = std::exchange(now_, {});
        return larger > 0 && 2 * larger >= same;
    }

  private:
    struct Grid {
        int64_t launches = 0, blocks = 0;
        int64_t average() const { return blocks / launches; }
    };
    std::unordered_map<int64_t, Grid> now_, before_;
};

// What a step holds, while it is gone through.
struct Contents {
    uint64_t graph_sum = 0, kernel_sum = 0;
    int64_t graphs = 0, launches = 0;
    bool prefills = false, decodes = false, is_fed = false, samples = false;
    bool is_larger = false;  // than the one behind it, by far
    int64_t in_bytes = 0, out_bytes = 0;
};

void add(Contents& contents, const Token& token) {
    if (token.kind == TokenKind::copy_h2d) contents.in_bytes += std::max(int64_t{0}, token.bytes);
    if (token.kind == TokenKind::sync) contents.out_bytes += std::max(int64_t{0}, token.bytes);
    contents.prefills |= token.purpose.prefills;
    contents.decodes |= token.purpose.decodes;
    contents.samples |= token.purpose.samples;
    if (token.kind == TokenKind::sync || token.kind == TokenKind::copy_h2d) return;
    const bool is_graph = token.kind == TokenKind::graph;
    (is_graph ? contents.graphs : contents.launches) += 1;
    (is_graph ? contents.graph_sum : contents.kernel_sum) +=
        mixed(static_cast<uint64_t>(is_graph ? token.hash : name_of(token)));
}

struct Usual {
    bool are_graphs = false;  // most have one
    bool name_decodes = false, name_prefills = false;
    bool are_fed = false;           // most are given what was sampled before
    bool sample = false;            // most choose tokens by a kernel whose name tells
    std::optional<double> in_each;  // bytes that come in for each that is read back: in most decodes
    bool do_prompts_vary = false;   // the same, of those without a graph: nearly each has its own, far apart
    int64_t least_out = INT64_MAX;  // bytes that are read back, of those that read some
};

double in_for_each(const Contents& one) {
    return static_cast<double>(one.in_bytes) / static_cast<double>(one.out_bytes);
}

std::optional<double> usual_in(const std::vector<Contents>& all, bool are_graphs) {
    std::vector<double> ratios;
    for (const Contents& one : all)
        if (one.out_bytes > 0 && (!are_graphs || one.graphs == 1)) ratios.push_back(in_for_each(one));
    if (ratios.empty()) return {};
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    return *middle;
}

// A decode brings about as much for each token that is sampled, whatever its batch; prompts are of any
// length.
bool do_prompts_vary(const std::vector<Contents>& all) {
    constexpr size_t kFewestPrompts = 8;  // fewer say nothing
    constexpr double kFarApart = 2;
    std::vector<double> ratios;
    for (const Contents& one : all)
        if (one.graphs == 0 && one.out_bytes > 0 && one.in_bytes > 0) ratios.push_back(in_for_each(one));
    if (ratios.size() < kFewestPrompts) return false;
    std::sort(ratios.begin(), ratios.end());
    const double low = ratios[ratios.size() / 10], high = ratios[ratios.size() - 1 - ratios.size() / 10];
    const auto end = std::unique(ratios.begin(), ratios.end());
    return high >= kFarApart * low && 2 * static_cast<size_t>(end - ratios.begin()) >= ratios.size();
}

Usual usual_of(const std::vector<Contents>& all) {
    Usual usual;
    size_t with_graph = 0, fed = 0, sampling = 0;
    for (const Contents& one : all) {
        with_graph += one.graphs == 1;
        fed += one.is_fed;
        sampling += one.samples;
        usual.name_decodes |= one.decodes;
        usual.name_prefills |= one.prefills;
        if (one.out_bytes > 0) usual.least_out = std::min(usual.least_out, one.out_bytes);
    }
    usual.are_graphs = 2 * with_graph > all.size();
    usual.are_fed = 2 * fed > all.size();
    usual.sample = 2 * sampling > all.size();
    usual.in_each = usual_in(all, usual.are_graphs);
    usual.do_prompts_vary = usual.are_graphs && do_prompts_vary(all);
    return usual;
}

// Many tokens come in for each that is sampled.
bool brings_a_prompt(const Contents& contents, const Usual& usual) {
    constexpr double kMore = 4;  // than a decode does
    if (contents.out_bytes == 0 || !usual.in_each) return false;
    return in_for_each(contents) > std::max(1.0, kMore * *usual.in_each);
}

// As many come in for each that is sampled as in decodes: its batch size has no graph.
bool brings_as_a_decode(const Contents& contents, const Usual& usual) {
    constexpr double kNear = 1.5;
    if (contents.out_bytes == 0 || contents.in_bytes == 0 || usual.in_each.value_or(0) <= 0) return false;
    const double times = in_for_each(contents) / *usual.in_each;
    return times <= kNear && times >= 1 / kNear;
}

// Without a graph, where most have one, and without a name that tells.
IterationKind kind_without_graph(const Contents& contents, const Usual& usual) {
    // One sequence may also be a short prompt.
    const bool is_of_several = contents.out_bytes > usual.least_out;
    if (brings_as_a_decode(contents, usual) && (is_of_several || !usual.do_prompts_vary))
        return IterationKind::decode;
    return usual.do_prompts_vary && contents.out_bytes > 0 ? IterationKind::prefill : IterationKind::eager;
}

IterationKind kind_of(const Contents& contents, const Usual& usual) {
    if (contents.prefills && contents.decodes) return IterationKind::mixed;
    if (contents.prefills) return IterationKind::prefill;
    // Some attend to prompts with what they decode with, and no name tells.
    if (contents.decodes)
        return contents.is_larger && !usual.name_prefills ? IterationKind::prefill : IterationKind::decode;
    // One graph and little around it: a batch size was captured, and prompts are of any length.
    if (contents.graphs == 1) return IterationKind::decode;
    if (contents.graphs > 0 || contents.launches == 0) return IterationKind::other;
    // Decodes are known by what they attend with, and this one does not.
    if (usual.name_decodes) return IterationKind::prefill;
    if (usual.are_fed && brings_a_prompt(contents, usual)) return IterationKind::prefill;
    if (usual.are_graphs) return kind_without_graph(contents, usual);
    if (usual.are_fed) return IterationKind::decode;
    if (!usual.sample) return IterationKind::other;
    return contents.is_larger ? IterationKind::prefill : IterationKind::decode;
}

std::vector<Contents> contents_of(const TokenSource& source, const std::vector<Step>& steps) {
    std::vector<Contents> contents(steps.size());
    Fed fed;
    Grids grids;
    size_t at = 0;
    const auto end_step = [&] {
        const bool was_larger = grids.was_larger();
        if (at > 0) contents[at - 1].is_larger = was_larger;
        ++at;
    };
    source([&](const Token& token) {
        const bool is_fed = fed.next(token);
        while (at < steps.size() && token.at_ns >= steps[at].end_ns) end_step();
        if (at == steps.size() || token.at_ns < steps[at].begin_ns) return;
        add(contents[at], token);
        contents[at].is_fed |= is_fed;
        grids.add(token);
    });
    if (at < steps.size()) end_step();
    return contents;
}

}  // namespace

std::vector<Iteration> look_into(const TokenSource& source, const std::vector<Step>& steps) {
    const std::vector<Contents> contents = contents_of(source, steps);
    const Usual usual = usual_of(contents);
    std::unordered_map<uint64_t, int32_t> classes;
    std::vector<Iteration> iterations;
    for (const Contents& one : contents) {
        Iteration made = {kind_of(one, usual), -1, one.graphs, one.launches};
        const uint64_t key = one.graphs > 0 ? mixed(one.graph_sum + 1) : mixed(one.kernel_sum);
        const auto known = classes.find(key);
        if (known != classes.end())
            made.of_class = known->second;
        else if (classes.size() < kMostClasses)
            made.of_class = static_cast<int32_t>(classes.size()), classes.emplace(key, made.of_class);
        iterations.push_back(made);
    }
    return iterations;
}

std::string_view name_of(IterationKind kind) {
    constexpr std::string_view kNames[] = {"other", "prefill", "decode", "mixed", "eager"};
    return kNames[static_cast<size_t>(kind)];
}

}  // namespace gpushim::analysis
