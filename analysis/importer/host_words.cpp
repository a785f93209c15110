#include "host_words.h"

#include <algorithm>
#include <iterator>

#include "../trace/python_lines.h"

namespace gpushim::analysis {

namespace {

struct HostWord {
    HostInside inside;
    std::string_view begins, ends = {};
};
constexpr HostWord kHostWords[] = {
    // PyTorch's loader and optimizers mark what they do themselves: enumerate(DataLoader)#….__next__. What
    // ends with '#' here is a mark wherever it stands.
    {HostInside::input, "enumerate(DataLoader)#"},
    {HostInside::input, "enumerate(DataPipe)#"},
    {HostInside::optimizer, "Optimizer.step#"},
    {HostInside::optimizer, "Optimizer.zero_grad#"},
    // JAX's frames in which the program waits for what it asked for.
    {HostInside::waits, "$", " block_until_ready"},
    {HostInside::waits, "$array.py:", " _value"},
    // XLA's for a task that waits until a buffer is there; what it does then has names of its own.
    {HostInside::waits, "BufferSequencingEvent::Execute"},
    // XLA's, for what a program is to run with.
    {HostInside::allocates, "Build buffer allocations"},
    {HostInside::allocates, "DeviceMemAllocator::Alloc"},
    // TensorFlow's operators that hand a batch to the step.
    {HostInside::input, "IteratorGetNext"},
};

struct FrameworkWord {
    std::string_view begins, framework;
};
constexpr FrameworkWord kFrameworkWords[] = {
    {"PjitFunction(", "jax"},
    {"jit_compile", "jax"},
    {"ExecutorState::", "tensorflow"},
    {"EagerExecute", "tensorflow"},
    {"EagerLocalExecute", "tensorflow"},
    {"FunctionRun", "tensorflow"},
    {"IteratorGetNext", "tensorflow"},
    {"Iterator::", "tensorflow"},
    {"ReadVariableOp", "tensorflow"},
};

struct Frame {
    std::string_view file, function;
};

// PyTorch's: "file(line): function"; JAX's and TensorFlow's: "$file:line function".
std::optional<Frame> frame_of(std::string_view name) {
    const bool is_short = name.starts_with('$');
    const size_t file_end = name.find(is_short ? ':' : '('), begin = name.find(is_short ? " " : "): ");
    if (begin == std::string_view::npos || file_end >= begin) return {};
    const size_t skipped = is_short ? 1 : 0;
    return Frame{name.substr(skipped, file_end - skipped), name.substr(begin + (is_short ? 1 : 3))};
}

// What is written in C has no file: "<built-in function imdecode>", "<method 'decode' of 'ImagingDecoder'
// objects>", "<built-in method read of _io.BufferedReader object at 0x7f10>". Empty: it is none of these.
std::string_view built_in(std::string_view name) {
    for (const std::string_view begin : {"<built-in function ", "<built-in method ", "<method '"}) {
        if (!name.starts_with(begin)) continue;
        const std::string_view rest = name.substr(begin.size());
        return rest.substr(0, rest.find_first_of(" '>"));
    }
    return {};
}

std::optional<HostInside> inside_of(PythonDoes does) {
    if (does == PythonDoes::loads) return HostInside::input;
    if (does == PythonDoes::optimizes) return HostInside::optimizer;
    return {};
}

}  // namespace

HostTold told_by(std::string_view name) {
    HostTold told;
    for (const HostWord& word : kHostWords)
        if (name.starts_with(word.begins) && name.ends_with(word.ends)) {
            told.inside = word.inside;
            break;
        }
    const auto frame = frame_of(name);
    const std::string_view in_c = built_in(name);
    told.stage = frame          ? stage_of_code(frame->file, frame->function)
                 : in_c.empty() ? stage_of_operator(name)
                                : stage_of_code("", in_c);
    if (told.inside || !frame) return told;
    if (const auto does = told_by(frame->file, frame->function)) told.inside = inside_of(*does);
    return told;
}

HostTold HostWords::told(std::string_view name) {
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    if (known_.size() >= kMost) known_.clear();
    return known_.emplace(name, told_by(name)).first->second;
}

bool is_mark(std::string_view name) {
    return name.starts_with("ProfilerStep#") ||
           std::any_of(std::begin(kHostWords), std::end(kHostWords), [&](const HostWord& word) {
               return word.begins.ends_with('#') && name.starts_with(word.begins);
           });
}

std::string_view framework_of(std::string_view name) {
    for (const FrameworkWord& word : kFrameworkWords)
        if (name.starts_with(word.begins)) return word.framework;
    return {};
}

}  // namespace gpushim::analysis
