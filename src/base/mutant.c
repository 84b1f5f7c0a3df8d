/* The list of planted bugs, for choosing one by name. */
#include "base/mutant.h"

#include <stddef.h>

#ifdef DN_MUTANTS
enum base_mutant base_mutant = MUTANT_NONE;
#endif

#define MUTANT_ENTRY(name, text) {#name, text},
static const struct {
    const char *name;
    const char *text;
} mutants[] = {MUTANTS(MUTANT_ENTRY)};
#undef MUTANT_ENTRY

const char *base_mutant_name(unsigned mutant)
{
    return mutant < MUTANT_COUNT ? mutants[mutant].name : NULL;
}

const char *base_mutant_text(unsigned mutant)
{
    return mutant < MUTANT_COUNT ? mutants[mutant].text : NULL;
}
