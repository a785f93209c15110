// The activity records of the stand-in: operations of the box in CUPTI's own structs, in the buffers that the
// subscriber gives. A buffer is given back when it is full or when somebody flushes, and then only once all
// in it is over; a forced flush gives back what is not over without its times, as CUPTI does. Own lock, taken
// last, and held while no subscriber is called. Any thread.
#pragma once

#include <cupti_activity.h>

#include "engine/operation.h"

namespace gpusim::cupti {

void set_buffers(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
// From now on records are of that clock, whatever it says and however fast it runs; those that were made
// before keep their stamps.
void set_timestamp(CUpti_TimestampCallbackFunc timestamp);
uint64_t timestamp();

bool can_record(CUpti_ActivityKind kind);
void record_kind(CUpti_ActivityKind kind, bool on);

// With the engine's lock held: nobody is called yet.
void note(const Operation& operation);
// What was noted goes into buffers.
void put_noted();
// A module has gone: names in records are no names any more.
void spoil_names();
void flush(bool forced);
size_t take_dropped();

// The record behind `record`, or the first. Null: there is none.
CUpti_Activity* next_record(uint8_t* buffer, size_t bytes, const CUpti_Activity* record);

}  // namespace gpusim::cupti
