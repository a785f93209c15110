// What names of ranges tell, and of which ranges a thread is in.
#include "analysis/trace/range_words.h"

#include <catch2/catch.hpp>

namespace range_words_test {

using namespace gpushim::analysis;

TEST_CASE("words of a range, whatever their case", "[range_words]") {
    CHECK(words_of_range("## Forward ##") == RangeWords{RangeWord::forward});
    CHECK(words_of_range("save_optimizer") == RangeWords{RangeWord::optimizer, RangeWord::callback});
    CHECK(words_of_range("forwarding database") == RangeWords{});
    CHECK(words_of_range("") == RangeWords{});
    CHECK(words_of_range("data parallel forward") == RangeWords{});
}

TEST_CASE("what a thread does in a range of that name", "[range_words]") {
    CHECK(told_by_range("save metrics") == PythonDoes::calls_back);
    CHECK(told_by_range("[Callback]ModelCheckpoint.on_train_batch_end") == PythonDoes::calls_back);
    CHECK(told_by_range("data loading") == PythonDoes::loads);
    CHECK(told_by_range("[_TrainingEpochLoop].train_dataloader_next") == PythonDoes::loads);
    CHECK(told_by_range("validation data") == PythonDoes::loads);
    CHECK(told_by_range("save_optimizer") == PythonDoes::calls_back);
    CHECK(told_by_range("Optimizer.step#SGD.step") == PythonDoes::optimizes);
    CHECK(told_by_range("aten::log") == PythonDoes::untold);
    CHECK(told_by_range("forward") == PythonDoes::untold);
    CHECK(told_by_range("step 5") == PythonDoes::untold);
}

}  // namespace range_words_test
