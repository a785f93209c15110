#include "iterations.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "keys.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kFewestIterations = 20;    // iterations, where their shape alone says what they are
constexpr size_t kFewestSizes = 3;           // of batches, of which each has a graph
constexpr int64_t kMostTokenBytes = 65'536;  // of what was sampled in one iteration
constexpr double kToldByName = 0.95, kToldByShape = 0.85;

// What is copied to the device and back, in bytes, from one read-back to the next.
//
//   decode     h 64  h 64  k k k  d 64  s      what was sampled before is the input, or part of it
//   prefill    h 1904      k k k  d 8   s      a prompt of many tokens, and one that was sampled
class Fed {
  public:
    // Whether this copy brings back what was read back last.
    bool next(const Token& token) {
        if (token.kind == TokenKind::sync && token.bytes != 0) read_bytes_ = token.bytes;
        return token.kind == TokenKind::copy_h2d && token.bytes == read_bytes_ && read_bytes_ > 0 &&
               read_bytes_ <= kMostTokenBytes;
    }

  private:
    int64_t read_bytes_ = 0;
};

// A copy to the device that the host waits for reads nothing back: it is the input of what follows.
class CopyWaits {
  public:
    bool next(const Token& token) {
        const bool is_of_copy = token.kind == TokenKind::sync && token.bytes == 0 &&
                                before_ == TokenKind::copy_h2d && token.lane == lane_;
        before_ = token.kind;
        lane_ = token.lane;
        return is_of_copy;
    }

  private:
    TokenKind before_ = TokenKind::sync;
    int32_t lane_ = -1;
};

// What was submitted between two waits of the host.
struct Stretch {
    int64_t begin_ns = 0;
    uint64_t signature = 0;  // of names and of graphs
    int32_t graphs = 0, launches = 0;
    bool serves = false, has_load = false, is_fed = false;
};

struct Survey {
    std::vector<Stretch> stretches;
    bool trains = false, serves = false, attends = false;
    int64_t end_ns = 0;
};

class Surveyor {
  public:
    void add(const Token& token) {
        Survey& all = survey_;
        all.end_ns = token.at_ns;
        all.trains |= token.is_optimizer || token.purpose.trains;
        all.serves |= token.purpose.serves;
        all.attends |= token.purpose.attends;
        open_.serves |= token.purpose.serves;
        const bool is_fed = fed_.next(token);
        if (copy_waits_.next(token)) return;
        if (token.kind == TokenKind::sync) return end_stretch();
        if (!is_open_) open_.begin_ns = token.at_ns;
        is_open_ = true;
        open_.is_fed |= is_fed;
        open_.has_load |= token.is_load;
        if (token.kind == TokenKind::copy_h2d) return;
        const bool is_graph = token.kind == TokenKind::graph;
        open_.graphs += is_graph;
        open_.launches += !is_graph;
        open_.signature += mixed(static_cast<uint64_t>(is_graph ? token.hash : name_of(token)));
    }

    Survey take() {
        end_stretch();
        return std::move(survey_);
    }

  private:
    // One that only copies goes on: what it copied is the next one's input.
    void end_stretch() {
        if (!is_open_ || open_.graphs + open_.launches == 0) return;
        if (!survey_.trains) survey_.stretches.push_back(open_);
        is_open_ = false;
        open_ = {};
    }

    Survey survey_;
    Fed fed_;
    CopyWaits copy_waits_;
    Stretch open_;
    bool is_open_ = false;
};

// Whether a stretch holds a model's work, not only what is done around it.
class HasModel {
  public:
    explicit HasModel(const std::vector<Stretch>& stretches) {
        for (const Stretch& stretch : stretches) {
            names_tell_ |= stretch.serves;
            most_ = std::max(most_, stretch.launches);
        }
    }
    bool operator()(const Stretch& stretch) const {
        constexpr double kLittle = 0.1;  // of the largest
        constexpr int32_t kFew = 4;
        if (stretch.serves || stretch.graphs > 0) return true;
        return !names_tell_ && stretch.launches >= kFew &&
               static_cast<double>(stretch.launches) >= kLittle * static_cast<double>(most_);
    }

  private:
    bool names_tell_ = false;
    int32_t most_ = 0;
};

std::vector<Stretch> iterations_of(const std::vector<Stretch>& stretches) {
    const HasModel has_model(stretches);
    std::vector<Stretch> iterations;
    for (const Stretch& stretch : stretches) {
        if (has_model(stretch))
            iterations.push_back(stretch);
        else if (!iterations.empty())
            iterations.back().has_load |= stretch.has_load;
    }
    return iterations;
}

// Graphs of batch sizes follow each other as requests come and go: mostly the same one again. Parts of one
// step that have a graph each follow each other in turn.
bool is_shaped_like_serving(const std::vector<Stretch>& iterations) {
    std::unordered_set<uint64_t> sizes;
    int64_t with_one = 0, again = 0;
    for (size_t i = 0; i < iterations.size(); ++i) {
        if (iterations[i].graphs != 1) continue;
        ++with_one;
        if (sizes.size() < kFewestSizes) sizes.insert(iterations[i].signature);
        again += i > 0 && iterations[i].signature == iterations[i - 1].signature;
    }
    return sizes.size() >= kFewestSizes && with_one >= kFewestIterations &&
           2 * with_one >= static_cast<int64_t>(iterations.size()) && 2 * again >= with_one;
}

// Token by token: what was sampled comes back as the input of the next, nearly every time.
bool is_shaped_like_generation(const std::vector<Stretch>& iterations) {
    const auto count = static_cast<int64_t>(iterations.size());
    const auto fed = std::count_if(iterations.begin(), iterations.end(),
                                   [](const Stretch& stretch) { return stretch.is_fed; });
    return fed >= kFewestIterations && 2 * fed >= count;
}

void judge(const Survey& survey, const std::vector<Stretch>& iterations, std::optional<Program> asked,
           bool has_served, Served& served) {
    const auto is = [&](Program program, double confidence, std::string why) {
        served.program = program;
        served.confidence = confidence;
        served.why = std::move(why);
    };
    if (asked) return is(*asked, 1, "as was given with the command");
    if (survey.trains)
        return is(Program::training, kToldByName, "kernels compute gradients or apply an optimizer");
    if (survey.serves || has_served)
        return is(Program::serving, kToldByName, "kernels read a language model's cache or sample tokens");
    if (is_shaped_like_serving(iterations))
        return is(Program::serving, kToldByShape,
                  "graphs of several sizes come in no fixed order, and the host reads back after each");
    if (survey.attends && is_shaped_like_generation(iterations))
        return is(Program::serving, kToldByShape,
                  "kernels attend and compute no gradients, and what the host reads back comes in again");
    served.why = "no kernel's name and no graphs tell whether the program trains or serves";
}

Steps steps_of(const std::vector<Stretch>& iterations, int64_t end_ns) {
    Steps found;
    if (iterations.size() < 2) {
        found.why = "nothing shows where an iteration begins: the host waits after fewer than two of them";
        return found;
    }
    for (size_t i = 0; i < iterations.size(); ++i) {
        const Stretch& stretch = iterations[i];
        const bool is_last = i + 1 == iterations.size();
        Step step = {stretch.begin_ns,
                     is_last ? end_ns : iterations[i + 1].begin_ns,
                     static_cast<int64_t>(i),
                     stretch.signature,
                     {}};
        step.has_load = stretch.has_load;
        step.is_left_out = is_last;
        if (is_last) step.why_left_out = kNoEnd;
        found.steps.push_back(step);
    }
    found.source = "detected";
    found.anchor = "the first operation after what was sampled had been read";
    return found;
}

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

Served find_iterations(const TokenSource& source, std::optional<Program> asked, bool has_served) {
    Surveyor surveyor;
    source([&](const Token& token) { surveyor.add(token); });
    const Survey survey = surveyor.take();
    const std::vector<Stretch> iterations = iterations_of(survey.stretches);
    Served served;
    judge(survey, iterations, asked, has_served, served);
    if (served.program != Program::serving) return served;
    served.iterations = iterations.size();
    served.found = steps_of(iterations, survey.end_ns);
    served.found.confidence = served.confidence;
    return served;
}

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

std::string_view name_of(Program program) {
    constexpr std::string_view kNames[] = {"not known", "training", "serving"};
    return kNames[static_cast<size_t>(program)];
}

std::string_view name_of(IterationKind kind) {
    constexpr std::string_view kNames[] = {"other", "prefill", "decode", "mixed", "eager"};
    return kNames[static_cast<size_t>(kind)];
}

}  // namespace gpushim::analysis
