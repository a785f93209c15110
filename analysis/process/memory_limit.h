// What reading may take of the machine, whatever is read. Once, before anything is read; children inherit it.
#pragma once

namespace gpushim::analysis {

// Half of the machine's memory, and not less than 2 GiB; a limit that is there already and lower stays.
void limit_memory();

}  // namespace gpushim::analysis
