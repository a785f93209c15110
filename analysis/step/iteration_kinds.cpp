// What each iteration of a server holds, and so what kind it is.
#include <algorithm>
#include <unordered_map>

#include "fed.h"
#include "iterations.h"
#include "keys.h"

namespace gpushim::analysis {

namespace {

// What a step holds, while it is gone through.
struct Contents {
    uint64_t graph_sum = 0, kernel_sum = 0;
    int64_t graphs = 0, launches = 0;
    bool prefills = false, decodes = false, is_fed = false;
    int64_t in_bytes = 0, out_bytes = 0;
};

void add(Contents& contents, const Token& token) {
    if (token.kind == TokenKind::copy_h2d) contents.in_bytes += std::max(int64_t{0}, token.bytes);
    if (token.kind == TokenKind::sync) contents.out_bytes += std::max(int64_t{0}, token.bytes);
    contents.prefills |= token.purpose.prefills;
    contents.decodes |= token.purpose.decodes;
    if (token.kind == TokenKind::sync || token.kind == TokenKind::copy_h2d) return;
    const bool is_graph = token.kind == TokenKind::graph;
    (is_graph ? contents.graphs : contents.launches) += 1;
    (is_graph ? contents.graph_sum : contents.kernel_sum) +=
        mixed(static_cast<uint64_t>(is_graph ? token.hash : name_of(token)));
}

struct Usual {
    bool are_graphs = false;  // most have one
    bool name_decodes = false;
    bool are_fed = false;           // most are given what was sampled before
    std::optional<double> in_each;  // bytes that come in for each that is read back: in most decodes
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

Usual usual_of(const std::vector<Contents>& all) {
    Usual usual;
    size_t with_graph = 0, fed = 0;
    for (const Contents& one : all) {
        with_graph += one.graphs == 1;
        fed += one.is_fed;
        usual.name_decodes |= one.decodes;
    }
    usual.are_graphs = 2 * with_graph > all.size();
    usual.are_fed = 2 * fed > all.size();
    usual.in_each = usual_in(all, usual.are_graphs);
    return usual;
}

// Many tokens come in for each that is sampled.
bool brings_a_prompt(const Contents& contents, const Usual& usual) {
    constexpr double kMore = 4;  // than a decode does
    if (contents.out_bytes == 0 || !usual.in_each) return false;
    return in_for_each(contents) > std::max(1.0, kMore * *usual.in_each);
}

IterationKind kind_of(const Contents& contents, const Usual& usual) {
    if (contents.prefills && contents.decodes) return IterationKind::mixed;
    if (contents.prefills) return IterationKind::prefill;
    if (contents.decodes) return IterationKind::decode;
    // One graph and little around it: a batch size was captured, and prompts are of any length.
    if (contents.graphs == 1) return IterationKind::decode;
    if (contents.graphs > 0 || contents.launches == 0) return IterationKind::other;
    // Decodes are known by what they attend with, and this one does not.
    if (usual.name_decodes) return IterationKind::prefill;
    if (usual.are_fed && brings_a_prompt(contents, usual)) return IterationKind::prefill;
    if (usual.are_graphs) return IterationKind::eager;
    return usual.are_fed ? IterationKind::decode : IterationKind::other;
}

}  // namespace

std::vector<Iteration> look_into(const TokenSource& source, const std::vector<Step>& steps) {
    std::vector<Contents> contents(steps.size());
    Fed fed;
    size_t at = 0;
    source([&](const Token& token) {
        const bool is_fed = fed.next(token);
        while (at < steps.size() && token.at_ns >= steps[at].end_ns) ++at;
        if (at == steps.size() || token.at_ns < steps[at].begin_ns) return;
        add(contents[at], token);
        contents[at].is_fed |= is_fed;
    });
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
