#include "host_words.h"

#include <algorithm>
#include <iterator>

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
    // Frames, where only these are there.
    {HostInside::input, "torch/utils/data/dataloader.py(", ": __next__"},
    {HostInside::optimizer, "torch/optim/", ": step"},
    // What libraries do to make a batch in the thread that launches.
    {HostInside::input, "transformers/pipelines/", ": preprocess"},
    {HostInside::input, "transformers/image_processing_utils", ": __call__"},
    {HostInside::input, "transformers/feature_extraction", ": __call__"},
    {HostInside::input, "transformers/tokenization_utils_base.py(", ": __call__"},
    {HostInside::input, "torchvision/datasets/", ": __getitem__"},
    {HostInside::input, "torchvision/transforms/", ": __call__"},
    {HostInside::input, "datasets/arrow_dataset.py(", ": __getitem__"},
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

}  // namespace

std::optional<HostInside> inside_of(std::string_view name) {
    for (const HostWord& word : kHostWords)
        if (name.starts_with(word.begins) && name.ends_with(word.ends)) return word.inside;
    return {};
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
