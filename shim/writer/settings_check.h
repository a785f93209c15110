// What is wrong with the GPUSHIM_* variables of a process, for programs that ask before anything is traced:
// by the tables that the traced process reads them with. Any process, any thread.
#pragma once

extern "C" {

// Calls `say` for each value that is not understood, or by which no trace can be made (`is_name` 0), and for
// each name that is not ours (1). A complaint is the name followed by what is said.
void gpushim_check_settings(void (*say)(void* with, int is_name, const char* name, const char* said),
                            void* with);
}
