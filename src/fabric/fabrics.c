/* The table of fabrics. */
#include <stdlib.h>

#include "fabric/fabric.h"
#include "fabric/relax/relax.h"

static const struct fabric *const fabrics[] = {
#define ROW(name) &name##_fabric,
    FABRICS(ROW)
#undef ROW
};

const struct fabric *fabric_default(void)
{
    return fabrics[0];
}

const struct fabric *fabric_told(void)
{
    for (size_t i = 0; i < sizeof fabrics / sizeof fabrics[0]; i++) {
        if (fabrics[i]->variable && getenv(fabrics[i]->variable)) {
            return fabrics[i];
        }
    }
    return fabric_default();
}

const struct fabric *fabric_relaxed(const struct fabric *fabric)
{
    return fabric->join ? fabric : &relax_fabric;
}
