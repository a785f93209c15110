// Keeps a thread of ours out of a library while the process forks (a child would inherit the library's locks
// as they are) and once it exits (the library may be torn down). Both wait for it, at most 20 and 100 ms. One
// thread passes the gate; everything is plain data that forks and exits may look at.
#pragma once

namespace gpushim::shim {

// Open again, for the first thread of this process that will pass; registers with fork and exit, once. The
// exit's part counts from arm_gate on: call it when the library has registered its own.
void open_gate();
void arm_gate();

// Waits while a fork is under way. False: the process exits, the library is not to be entered any more.
bool enter_gate();
void leave_gate();

}  // namespace gpushim::shim
