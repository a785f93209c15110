// SQLite's memory: to parse its statements it takes and gives back a great many small pieces. Here they come
// from a store that one thread at a time has, without a lock; what a store holds is kept until the process
// ends. Any thread.
#pragma once

struct sqlite3_mem_methods;

namespace gpushim::analysis {

const sqlite3_mem_methods& small_memory();

// Before SQLite is used for the first time. Under sanitizers nothing changes: they watch each piece.
void give_sqlite_small_memory();

}  // namespace gpushim::analysis
