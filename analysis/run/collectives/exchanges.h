// All-to-alls that are made of messages, as PyTorch and others make them: each rank sends to all and receives
// from all in one group. Where all messages of a communicator are of such groups, the group's first call
// stands for all of it, and ranks meet in it as in other collectives: in one row with these, where all ranks
// call both in the same order. Else all stay messages. One thread.
#pragma once

#include "run_communicator.h"

namespace gpushim::analysis {

// Of a communicator whose ranks are all there, before they are matched.
void join_exchanges(RunCommunicator& comm, Aside& aside);

}  // namespace gpushim::analysis
