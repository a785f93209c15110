// The answer: what is printed to stdout. Lines leave whole and in the order in which they and those on stderr
// were said, so nothing stands in the middle of one. What could not be written is known at the end. One
// thread prints.
#pragma once

namespace gpushim::analysis {

// Once, before anything is printed. From here on printf and puts come through here.
void begin_answer();

// False: it cannot be written, or its reader has gone (`| head`). Work for nothing but the answer may stop.
bool is_answer_read();

// Everything out. Returns `code`; where something could not be written, says so and returns kIncomplete. A
// reader that has gone is no failure: it had what it wanted.
int end_answer(int code);

}  // namespace gpushim::analysis
