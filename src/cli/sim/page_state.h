/* What the files of a page share. */
#ifndef CLI_SIM_PAGE_STATE_H
#define CLI_SIM_PAGE_STATE_H

#include <stdio.h>

#include "cli/sim/page.h"

struct cli_page {
    FILE *file;
};

void cli_page_escape(struct cli_page *page, const char *text);

#endif
