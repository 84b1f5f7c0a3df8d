/* The table of fabrics. */
#include <stdlib.h>

#include "fabric/fabric.h"
#include "fabric/relax/relax.h"

static const struct fabric *const fabrics[] = {
#define ROW(name) &name##_fabric,
    FABRICS(ROW)
#undef ROW
};

const struct fabric *fabric_choose(bool launched, bool relaxed)
{
    const struct fabric *chosen = fabrics[0];
    for (size_t i = 0; launched && i < sizeof fabrics / sizeof fabrics[0]; i++) {
        if (fabrics[i]->variable && getenv(fabrics[i]->variable)) {
            chosen = fabrics[i];
            break;
        }
    }
    return relaxed && !chosen->join ? &relax_fabric : chosen;
}

const char *fabric_first_name(void)
{
    static const char *const names[] = {
#define ROW(name) #name,
        FABRICS(ROW)
#undef ROW
    };
    return names[0];
}
