/* The studies, one function each; false: a bar was missed. */
#ifndef SIM_STORM_STUDY_PARTS_H
#define SIM_STORM_STUDY_PARTS_H

#include "sim/storm/study.h"

bool storm_study_goodput(const struct storm_printer *printer);
bool storm_study_incast(const struct storm_printer *printer);
bool storm_study_cache(const struct storm_printer *printer);
bool storm_study_state(const struct storm_printer *printer);

#endif
