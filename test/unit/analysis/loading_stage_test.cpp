// In which stage of loading a batch a thread was: by names, in spans, on the line of a thread, in gaps.
#include "analysis/trace/loading_stage.h"

#include <catch2/catch.hpp>
#include <vector>

#include "analysis/importer/host_spans.h"
#include "analysis/importer/host_words.h"
#include "analysis/run/busy/idle_sums.h"
#include "idle_run.h"
#include "idle_scene.h"

namespace loading_stage_test {

using namespace gpushim::analysis;

namespace {

using Stage = LoadingStage;

// A letter for a nanosecond: where a thread loads, its stage.
std::string laid_out(const std::vector<HostSpan>& spans, int64_t until_ns) {
    std::string drawn(static_cast<size_t>(until_ns), '.');
    HostSpans layout([&](const HostSpan& span) {
        for (int64_t at = span.start_ns; at < span.end_ns; ++at)
            drawn[static_cast<size_t>(at)] =
                span.inside == HostInside::input ? "iwrdtbc"[static_cast<size_t>(span.stage)] : '-';
    });
    for (const HostSpan& span : spans) layout.add(span);
    layout.finish();
    return drawn;
}

HostSpan loader(int64_t start_ns, int64_t end_ns, Stage stage = Stage::untold) {
    return {1, start_ns, end_ns, HostInside::input, stage};
}
HostSpan op(int64_t start_ns, int64_t end_ns, Stage stage = Stage::untold) {
    return {1, start_ns, end_ns, HostInside::framework, stage};
}
HostSpan frame(int64_t start_ns, int64_t end_ns, Stage stage) {
    return {1, start_ns, end_ns, HostInside::python, stage};
}

std::string parts_of(const Attributed& gap) {
    std::string text;
    for (const StagePart& part : gap.stages)
        text += std::string(text.empty() ? "" : ", ") + name_of(part.stage) + " " +
                std::to_string(part.from_ns / idle_scene::kUs) + "-" +
                std::to_string(part.until_ns / idle_scene::kUs);
    return text;
}

made::RunRows loading_in(std::vector<std::pair<const char*, double>> stages) {
    made::RunRows run = made::idle_run("input_loading", 10 * made::kMs);
    for (const auto& [stage, share] : stages)
        for (int64_t step = 0; step < made::RunRows::kSteps; ++step)
            run.add("input_stage", {{"gpu_id", 0},
                                    {"step", step},
                                    {"stage", stage},
                                    {"ns", static_cast<int64_t>(share * 10 * made::kMs)}});
    return run;
}

bool has(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("names of functions tell at which stage of loading they are", "[loading_stage]") {
    const std::string packages = "/v/lib/python3.11/site-packages/";
    CHECK(stage_of_code("/usr/lib/python3.11/queue.py", "Queue.get") == Stage::waits);
    CHECK(stage_of_code("/usr/lib/python3.11/multiprocessing/connection.py", "wait") == Stage::waits);
    CHECK(stage_of_code(packages + "torch/utils/data/dataloader.py",
                        "_MultiProcessingDataLoaderIter._try_get_data") == Stage::waits);
    CHECK(stage_of_code(packages + "torch/utils/data/_utils/collate.py", "default_collate") ==
          Stage::collates);
    CHECK(stage_of_code("/me/data.py", "collate_fn") == Stage::collates);
    CHECK(stage_of_code(packages + "torch/utils/data/_utils/pin_memory.py", "pin_memory") == Stage::copies);
    CHECK(stage_of_code(packages + "PIL/ImageFile.py", "ImageFile.load") == Stage::decodes);
    CHECK(stage_of_code(packages + "PIL/Image.py", "Image.resize") == Stage::transforms);
    CHECK(stage_of_code(packages + "torchvision/transforms/functional.py", "normalize") == Stage::transforms);
    CHECK(stage_of_code(packages + "h5py/_hl/dataset.py", "Dataset.__getitem__") == Stage::reads);
    CHECK(stage_of_code("/me/data.py", "decode_jpeg") == Stage::decodes);
    CHECK(stage_of_code("/me/data.py", "main") == Stage::untold);
    CHECK(stage_of_code("/me/data.py", "Images.apply_transforms") == Stage::transforms);
    CHECK(stage_of_code("/me/data.py", "train_transformer") == Stage::untold);
    for (const char* const folder : {"av", "ray", "json", "requests"})
        CHECK(stage_of_code("/me/" + std::string(folder) + "/train.py", "get") == Stage::untold);
    CHECK(stage_of_code("/usr/lib/python3.11/json/decoder.py", "JSONDecoder.raw_decode") == Stage::decodes);
    CHECK(stage_of_code(packages + "requests/sessions.py", "Session.get") == Stage::reads);
    CHECK(stage_of_code(packages + "torch/utils/data/_utils/fetch.py", "fetch") == Stage::untold);
    CHECK(stage_of_operator("aten::stack") == Stage::collates);
    CHECK(stage_of_operator("aten::div") == Stage::transforms);
    for (const char* const moves : {"aten::to", "aten::copy_", "aten::empty", "aten::select", "aten::index"})
        CHECK(stage_of_operator(moves) == Stage::untold);
    CHECK(stage_of_blocked("waiting_for_lock") == Stage::waits);
    CHECK(stage_of_blocked("disk") == Stage::reads);
    CHECK(stage_of_blocked("sleeping") == Stage::untold);
}

TEST_CASE("profilers write names of frames in two ways, and both are known", "[loading_stage]") {
    const HostTold image = told_by("PIL/ImageFile.py(160): load");
    CHECK(image.stage == Stage::decodes);
    CHECK(!image.inside);  // a program may do that elsewhere, too
    CHECK(told_by("$queue.py:154 get").stage == Stage::waits);
    const HostTold loads = told_by("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
    CHECK((loads.inside == HostInside::input && loads.stage == Stage::waits));
    CHECK(told_by("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__").stage == Stage::untold);
    CHECK(told_by("<built-in function imdecode>").stage == Stage::decodes);
    CHECK(told_by("<method 'decode' of 'ImagingDecoder' objects>").stage == Stage::decodes);
    const HostTold read = told_by("<built-in method read of _io.BufferedReader object at 0x7f10>");
    CHECK((!read.inside && read.stage == Stage::reads));
    CHECK(told_by("<built-in method log of type object at 0x7f10>").stage == Stage::untold);
    HostWords words;
    for (int i = 0; i < 2; ++i) CHECK(words.told("PIL/ImageFile.py(160): load").stage == Stage::decodes);
}

//  input        1|─────────────────|18          22|──|24
//  frames         2|─ reads ─|6  8|─── decodes ─────────|20
//  in it                             10|─ copies ─|13
TEST_CASE("of stages in each other the one that began last counts, and only in a loader", "[loading_stage]") {
    CHECK(laid_out({loader(1, 18), frame(2, 6, Stage::reads), frame(8, 20, Stage::decodes),
                    frame(10, 13, Stage::copies), loader(22, 24)},
                   25) == ".irrrriiddcccddddd--..ii.");
}

//  frames       0|── reads, and trains ──────────────────|20
//  input           2|───────────────────|10   12|───────|16
//  in it              3|loader|5 7|op|8         13|dec.|14
TEST_CASE("what is around a loader does not say its stage", "[loading_stage]") {
    CHECK(laid_out({frame(0, 20, Stage::reads), loader(2, 10), loader(3, 5), op(7, 8), loader(12, 16),
                    frame(13, 14, Stage::decodes)},
                   20) == "--iiiiiiii--idii----");
    CHECK(laid_out({frame(0, 20, Stage::reads), loader(2, 10, Stage::decodes), loader(12, 16)}, 20) ==
          "--dddddddd--iiii----");
}

//  input       0|──────────────────────────────|20
//  operators      2|stack────────|8 10|──|12
//  in it            4|copy|6
TEST_CASE("an operator of a loader tells a stage if its name does", "[loading_stage]") {
    CHECK(laid_out({loader(0, 20), op(2, 8, Stage::collates), op(4, 6), op(10, 12)}, 20) ==
          "iibbbbbbiiiiiiiiiiii");
    // Of a loader with workers all is waiting that nothing else says.
    CHECK(laid_out({loader(0, 20, Stage::waits), op(2, 4), op(10, 12, Stage::copies)}, 20) ==
          "wwwwwwwwwwccwwwwwwww");
    // What was begun before the loader holds it, and does not work for it.
    CHECK(laid_out({op(0, 20), loader(5, 10)}, 20) == "-----iiiii----------");
}

//  GPU     ██100|                                            |200███
//  thread   ┌loader 50 ─────────────────────────────────────180┐ 195┌N┐
//                 110┌copy┐120   130┌off its CPU┐150
TEST_CASE("what lies beneath a loader tells its stage", "[loading_stage]") {
    idle_scene::Scene scene;
    scene.call(What::loading, 50, 180).call(What::staging, 110, 120);
    scene.line().add(
        HostGap{.from_ns = 130'000, .until_ns = 150'000, .running_ns = 0, .stage = Stage::reads});
    scene.launch(195, 199).gap_before(100, 200, 195, 199);
    CHECK(parts_of(scene.ask()) == "copies 115-125, reads 135-155");  // an empty queue takes 5
    CHECK(scene.pieces() == idle_scene::Pieces{idle_scene::is(Cause::input_loading, 100, 185),
                                               idle_scene::is(Cause::python, 185, 200)});
}

//  thread   ┌loader 50 ── of operators, which transform ────180┐ 195┌N┐
//                 110┌copy┐120
TEST_CASE("a copy that an operator of the loader makes is one", "[loading_stage]") {
    idle_scene::Scene scene;
    scene.line().add(HostCall{What::loading, 50'000, 180'000, kNoGpu, Stage::transforms});
    scene.call(What::staging, 110, 120);
    scene.launch(195, 199).gap_before(100, 200, 195, 199);
    CHECK(parts_of(scene.ask()) == "transforms 100-115, copies 115-125, transforms 125-185");
}

//  thread   80┌L┐90      gap row 95 ── waits 40, runs 55 ──190   195┌copy N┐
TEST_CASE("before a batch, what a thread waited for tells the stage, and a sample tells more",
          "[loading_stage]") {
    const auto before = [](bool is_input, Stage sampled) {
        idle_scene::Scene scene;
        scene.launch(80, 90);
        scene.line().add(
            HostGap{.from_ns = 95'000, .until_ns = 190'000, .running_ns = 55'000, .stage = Stage::waits});
        if (sampled != Stage::untold) scene.line().add(HostSample{120'000, 7, PythonDoes::untold, sampled});
        scene.launch(195, 199).gap_before(100, 200, 195, 199);
        scene.gap.next->is_copy_h2d = true;
        if (is_input) scene.input_copy_at(195);
        return parts_of(scene.ask());
    };
    CHECK(before(true, Stage::untold) == "waits 100-140");
    CHECK(before(true, Stage::decodes) == "decodes 100-140, decodes 140-195");
    CHECK(before(false, Stage::decodes).empty());  // not loading: the names mean something else
}

TEST_CASE("stages are cut where steps begin", "[loading_stage]") {
    const std::vector<Segment> segments = {{0, 10, kNoStep}, {10, 20, 4}, {20, 30, 5}};
    IdleSums sums;
    sums.begin(segments);
    Attributed gap = {.pieces = {{Cause::input_loading, 5, 35}}};
    gap.stages = {{Stage::reads, 5, 22}, {Stage::decodes, 22, 35}};
    sums.add(gap);
    sums.end();
    CHECK(sums.stages() == StageSums{{{kNoStep, Stage::reads}, 5},
                                     {{4, Stage::reads}, 10},
                                     {{5, Stage::reads}, 2},
                                     {{5, Stage::decodes}, 8}});
}

TEST_CASE("the finding says the stages, and helps the largest", "[loading_stage][rule]") {
    const auto found = [](std::vector<std::pair<const char*, double>> stages) {
        return *loading_in(std::move(stages)).look("input_bound");
    };
    const Finding decodes = found({{"decodes", 0.6}, {"collates", 0.2}, {"reads", 0.04}});
    CHECK(has(decodes.title, "(decoding 60 %, putting samples together 20 %, what nothing tells 16 %)"));
    CHECK(decodes.try_it.starts_with("Store samples in the size that is used"));
    CHECK(has(decodes.try_it, "Load in other threads"));
    const Finding several = found({{"decodes", 0.4}, {"reads", 0.4}});
    CHECK_FALSE(has(several.try_it, "Store samples"));
    CHECK_FALSE(has(several.try_it, "many samples in one file"));
    const Finding waits = found({{"waits", 0.9}});
    CHECK(has(waits.title, "waits for a batch from its loaders (waiting for workers or queues 90 %"));
    CHECK(waits.try_it.starts_with("Make loading faster"));
    CHECK_FALSE(has(found({}).title, "("));
}

}  // namespace loading_stage_test
