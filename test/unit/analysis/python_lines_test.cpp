// Which lines of Python are a program's own, and which load its batches.
#include "analysis/trace/python_lines.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "analysis/sqlite/database.h"

namespace python_lines_test {

using namespace gpushim::analysis;

TEST_CASE("own code is neither the interpreter's nor installed beside it", "[python_lines]") {
    CHECK(is_own_code("/srv/me/train.py"));
    CHECK(is_own_code("train.py"));
    CHECK(is_own_code("<stdin>"));
    CHECK_FALSE(is_own_code("<frozen runpy>"));
    CHECK_FALSE(is_own_code("/usr/lib/python3.11/threading.py"));
    CHECK_FALSE(is_own_code("/usr/lib/python3/dist-packages/torch/nn/modules/module.py"));
    CHECK_FALSE(is_own_code("/srv/me/venv/lib64/site-packages/torch/optim/adam.py"));
}

TEST_CASE("batches are loaded by loaders, not by whatever has a next", "[python_lines]") {
    CHECK(told_by("/v/site-packages/torch/utils/data/_utils/fetch.py", "fetch") == PythonDoes::loads);
    CHECK(told_by("/me/data.py", "MyDataLoader.__iter__") == PythonDoes::loads);
    CHECK(told_by("/me/data.py", "PrefetchLoader.__next__") == PythonDoes::loads);
    CHECK(told_by("data_loader.py", "__next__") == PythonDoes::loads);  // before 3.11
    CHECK_FALSE(told_by("/me/train.py", "Trainer.__next__"));
    CHECK_FALSE(told_by("/me/train.py", "load"));
    CHECK_FALSE(told_by("/me/loaders/train.py", "__next__"));
}

TEST_CASE("optimizers step, and callbacks log", "[python_lines]") {
    const auto optimizes = [](const char* file, const char* function) {
        return told_by(file, function) == PythonDoes::optimizes;
    };
    CHECK(optimizes("/v/site-packages/torch/optim/adamw.py", "AdamW.step"));
    CHECK(optimizes("/v/site-packages/apex/optimizers/fused_adam.py", "FusedAdam.step"));
    CHECK(optimizes("/me/model.py", "MyOptimizer.step"));
    CHECK(optimizes("/v/site-packages/keras/src/optimizers/base_optimizer.py",
                    "BaseOptimizer.apply_gradients"));
    CHECK_FALSE(told_by("/me/train.py", "step"));
    CHECK_FALSE(told_by("/v/site-packages/torch/optim/adamw.py", "AdamW.__init__"));
    CHECK(told_by("/me/train.py", "fit.<locals>.closure") == PythonDoes::untold);
    const auto calls_back = [](const char* file, const char* function) {
        return told_by(file, function) == PythonDoes::calls_back;
    };
    CHECK(calls_back("/usr/lib/python3.11/logging/__init__.py", "StreamHandler.emit"));
    CHECK(calls_back("/me/train.py", "Saver.on_train_epoch_end"));
    CHECK(calls_back("/v/site-packages/transformers/trainer_callback.py", "CallbackHandler.call_event"));
    CHECK(calls_back("/me/train.py", "log_metrics"));
    CHECK_FALSE(told_by("/me/callback-tests/train.py", "main"));
    CHECK_FALSE(told_by("/me/train.py", "log_softmax"));
    CHECK_FALSE(told_by("/me/train.py", "on_device"));
}

// Stacks from the outermost line to the innermost.
PythonLines lines_of(std::initializer_list<std::pair<const char*, const char*>> stack) {
    const Database base = Database::in_memory();
    base.run(
        "CREATE TABLE python_code (id, file, function); CREATE TABLE python_frame (id, caller_id, code_id, "
        "line)");
    int id = 0;
    for (const auto& [file, function] : stack) {
        ++id;
        const std::string number = std::to_string(id), caller = std::to_string(id - 1);
        base.run("INSERT INTO python_code VALUES (" + number + ", '" + file + "', '" + function + "')");
        base.run("INSERT INTO python_frame VALUES (" + number + ", " + caller + ", " + number + ", 7)");
    }
    return python_lines_of(base);
}

PythonDoes seen(std::initializer_list<std::pair<const char*, const char*>> stack) {
    return lines_of(stack).of_frame.at(static_cast<int64_t>(stack.size())).does;
}

LoadingStage stage_seen(std::initializer_list<std::pair<const char*, const char*>> stack) {
    return lines_of(stack).of_frame.at(static_cast<int64_t>(stack.size())).stage;
}

// The line of the program's own code, and in what that was.
std::string place_of(std::initializer_list<std::pair<const char*, const char*>> stack) {
    const PythonLines lines = lines_of(stack);
    const PythonStackIn& in = lines.of_frame.at(static_cast<int64_t>(stack.size()));
    const PythonPlaceIn& place = lines.places.at(static_cast<size_t>(in.place));
    CHECK(place.line == in.line);
    const auto function = [&](int32_t line) {
        return line == PythonPlaceIn::kNoLine ? "-" : lines.lines.at(static_cast<size_t>(line)).function;
    };
    return function(place.line) + " " + function(place.inside);
}

TEST_CASE("of a line that calls into a library the line there is known, too", "[python_lines]") {
    const char* const kTrainer = "/v/site-packages/transformers/trainer.py";
    const char* const kQueue = "/usr/lib/python3.11/queue.py";
    CHECK(place_of({{"/me/train.py", "main"}}) == "main -");
    CHECK(place_of({{"/me/train.py", "main"}, {kTrainer, "train"}, {kTrainer, "loop"}}) == "main loop");
    // The interpreter's own waiting says less than who calls for it.
    CHECK(place_of({{"/me/train.py", "main"}, {kTrainer, "train"}, {kQueue, "get"}}) == "main train");
    CHECK(place_of({{"/me/train.py", "main"}, {kQueue, "get"}}) == "main get");
    CHECK(place_of({{"/me/train.py", "main"}, {kTrainer, "train"}, {"/me/train.py", "loss"}}) == "loss -");
    CHECK(place_of({{kTrainer, "train"}, {kTrainer, "loop"}}) == "loop -");
}

TEST_CASE("of a stack loading counts first, then what is innermost", "[python_lines]") {
    const char* const kAdam = "/v/site-packages/torch/optim/adam.py";
    const char* const kTqdm = "/v/site-packages/tqdm/std.py";
    CHECK(seen({{"/me/train.py", "main"}}) == PythonDoes::untold);
    CHECK(seen({{"/me/train.py", "main"}, {kAdam, "Adam.step"}, {kAdam, "adam"}}) == PythonDoes::optimizes);
    // An optimizer's closure and what a progress bar iterates over are the program's own again.
    CHECK(seen({{kAdam, "Adam.step"}, {"/me/train.py", "forward"}}) == PythonDoes::untold);
    CHECK(seen({{kTqdm, "tqdm.__iter__"}, {"/me/train.py", "batches"}}) == PythonDoes::untold);
    CHECK(seen({{kTqdm, "tqdm.__iter__"}, {"/me/data.py", "MyLoader.__next__"}}) == PythonDoes::loads);
    // All that the program's own callback calls is its callback, unless it says otherwise.
    CHECK(seen({{"/me/train.py", "on_step_end"}, {"/me/train.py", "evaluate"}}) == PythonDoes::calls_back);
    CHECK(seen({{"/me/data.py", "MyLoader.__next__"}, {"/me/train.py", "log"}}) == PythonDoes::loads);
}

// No loader is named, only the copy of a batch follows: a program may do anything by such a name.
TEST_CASE("names of functions tell a stage in a loader that is named, names of files in any",
          "[python_lines]") {
    const auto own = [](const char* function) { return std::pair{"/me/train.py", function}; };
    const char* const kQueue = "/usr/lib/python3.11/queue.py";
    CHECK(stage_seen({own("transform_loss")}) == LoadingStage::untold);
    CHECK(stage_seen({own("BatchLoader.__next__"), own("transform")}) == LoadingStage::transforms);
    CHECK(stage_seen({own("main"), {kQueue, "Queue.get"}}) == LoadingStage::waits);
}

TEST_CASE("what calls a loader does not say in which stage it is", "[python_lines]") {
    const char* const kData = "/me/data.py";
    const std::pair<const char*, const char*> trains = {"/me/train.py", "read_and_train"},
                                              loads = {kData, "MyLoader.__next__"};
    CHECK(stage_seen({trains}) == LoadingStage::untold);
    CHECK(stage_seen({trains, loads}) == LoadingStage::untold);
    CHECK(stage_seen({trains, loads, {kData, "decode"}, {kData, "resize"}}) == LoadingStage::decodes);
    // A loader in a loader works for it.
    CHECK(stage_seen({loads, {kData, "decode"}, {kData, "OtherLoader.__next__"}}) == LoadingStage::decodes);
}

}  // namespace python_lines_test
