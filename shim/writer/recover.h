// What a killed process left in its rings is put into its trace. A ring is dead when nobody holds the lock
// that its writer keeps; then ring_commit says from where on the trace does not have it. Whoever is killed in
// here is followed by the next, who goes on from there (recovery.h). Any process but the traced one.
#pragma once

#include <cstddef>

extern "C" {

// A trace, or a folder of traces. 0: all is in the traces; 1: of some trace something could not be recovered,
// and stays where it is (gpushim_recovery_failure says why).
int gpushim_recover(const char* trace_or_folder);

// The same into a copy, for traces that must not be written to: the trace and its rings stay as they are.
// `copy` must not exist. 0: it is there, and complete.
int gpushim_recover_copy(const char* trace, const char* copy);

// What all dead processes of this user have left goes into their traces, the oldest first, as far as that
// takes no longer. 0: all that can; 1: there was no time for the rest.
int gpushim_recover_leftovers(int most_ms);

// One line; empty: nothing failed. Valid until the next call of these.
const char* gpushim_recovery_failure();
}
