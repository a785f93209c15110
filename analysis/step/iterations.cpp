#include "iterations.h"

#include <algorithm>
#include <unordered_set>

#include "fed.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kFewestIterations = 20;  // iterations, where their shape alone says what they are
constexpr size_t kFewestSizes = 3;         // of batches, of which each has a graph
constexpr int64_t kScalarBytes = 8;
constexpr double kToldByName = 0.95, kToldByShape = 0.85;

// Whether a stretch holds a model's work, not only what is done around it.
class HasModel {
  public:
    explicit HasModel(const std::vector<HostStretch>& stretches) {
        for (const HostStretch& stretch : stretches) {
            names_tell_ |= stretch.serves;
            most_ = std::max(most_, stretch.launches);
        }
    }
    bool operator()(const HostStretch& stretch) const {
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

std::vector<HostStretch> iterations_of(const std::vector<HostStretch>& stretches) {
    const HasModel has_model(stretches);
    std::vector<HostStretch> iterations;
    for (const HostStretch& stretch : stretches) {
        if (has_model(stretch))
            iterations.push_back(stretch);
        else if (!iterations.empty())
            iterations.back().join(stretch);
    }
    return iterations;
}

// Graphs of batch sizes follow each other as requests come and go: mostly the same one again. Parts of one
// step that have a graph each follow each other in turn.
bool is_shaped_like_serving(const std::vector<HostStretch>& iterations) {
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
bool is_shaped_like_generation(const std::vector<HostStretch>& iterations) {
    const auto count = static_cast<int64_t>(iterations.size());
    const auto fed = std::count_if(iterations.begin(), iterations.end(),
                                   [](const HostStretch& stretch) { return stretch.is_fed; });
    return fed >= kFewestIterations && 2 * fed >= count;
}

// The same with tokens that stay on the device: nothing comes in, one is chosen, and the host reads little
// more than whether it was the last.
bool goes_on_by_itself(const HostStretch& stretch) {
    return stretch.samples && stretch.out_bytes > 0 && stretch.out_bytes <= kMostTokenBytes &&
           stretch.in_bytes >= 0 && stretch.in_bytes <= std::max(kScalarBytes, stretch.out_bytes);
}

bool samples_on_the_device(const Survey& survey, const std::vector<HostStretch>& iterations) {
    int64_t count = 0, attend = 0;
    for (const HostStretch& stretch : iterations) {
        count += goes_on_by_itself(stretch);
        attend += stretch.softmaxes > 1;  // in more than one layer
    }
    const auto all = static_cast<int64_t>(iterations.size());
    return count >= kFewestIterations && 2 * count >= all && (survey.attends || 2 * attend >= all);
}

void judge(const Survey& survey, const std::vector<HostStretch>& iterations, std::optional<Program> asked,
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
    served.do_batches_end = samples_on_the_device(survey, iterations);
    if (served.do_batches_end)
        return is(
            Program::serving, kToldByShape,
            "kernels attend and choose tokens, none computes gradients, and the host reads only these or"
            " whether it is the end");
    served.why = "no kernel's name and no graphs tell whether the program trains or serves";
}

Steps steps_of(const std::vector<HostStretch>& iterations, int64_t end_ns) {
    Steps found;
    if (iterations.size() < 2) {
        found.why = "nothing shows where an iteration begins: the host waits after fewer than two of them";
        return found;
    }
    for (size_t i = 0; i < iterations.size(); ++i) {
        const HostStretch& stretch = iterations[i];
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
    found.anchor = "the first operation after the sampled tokens were read";
    return found;
}

}  // namespace

Served find_iterations(const Survey& survey, std::optional<Program> asked, bool has_served) {
    const std::vector<HostStretch> iterations = iterations_of(survey.stretches);
    Served served;
    judge(survey, iterations, asked, has_served, served);
    if (served.program != Program::serving) return served;
    served.iterations = iterations.size();
    served.found = steps_of(iterations, survey.end_ns);
    served.found.confidence = served.confidence;
    return served;
}

std::string_view name_of(Program program) {
    constexpr std::string_view kNames[] = {"not known", "training", "serving"};
    return kNames[static_cast<size_t>(program)];
}

}  // namespace gpushim::analysis
