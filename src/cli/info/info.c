/* `dimmnet info`: this machine, the groups that run on it, and one of them in detail. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/size_text.h"
#include "cli/cli.h"
#include "cli/info/info_print.h"
#include "cli/options.h"

#define COMMAND "dimmnet info"

struct info_options {
    bool json;
    const char *process; /* NULL: all groups */
};

static const struct options_row info_rows[] = {
    {"json", 0, NULL, "print one JSON object per line", OPTIONS_FLAG,
     OPTIONS_AT(struct info_options, json)},
    {NULL, 0, "process", NULL, OPTIONS_TEXT, OPTIONS_AT(struct info_options, process)},
    {.kind = OPTIONS_END},
};

static const struct options_command info_command = {
    .name = COMMAND,
    .usage = "[--json] [process]",
    .about =
        "Without a process: what this machine offers to groups, and which groups of this user\n"
        "run on it. With the id of a launcher, an agent or a node: all about its group: its\n"
        "fabric, sizes and lives and, if its nodes use packets, the counters and round-trip\n"
        "times that the nodes on this host report several times a second.\n",
    .closing =
        "Exit status: 0 when everything could be shown; 1 when the operating system refused, or\n"
        "when the words of the group make no sense; 2 for a command line that makes no sense or\n"
        "a process that is in no group.\n",
};

/* Gives 0, or a status after saying why nothing can be told about this process. */
static int check_process(const char *text, pid_t *process)
{
    uint64_t number;
    char path[64];
    if (!base_number_parse(text, INT32_MAX, &number) || number == 0) {
        return cli_refuse(COMMAND, "a process id is needed, not \"%s\"", text);
    }
    *process = (pid_t)number;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/.", (int)*process);
    if (access(path, R_OK) != 0 && errno == EACCES) {
        return cli_fail(COMMAND, "process %d: %s", (int)*process, strerror(errno));
    }
    if (access(path, R_OK) != 0) {
        return cli_refuse(COMMAND, "there is no process %d", (int)*process);
    }
    return CLI_OK;
}

static int tell(bool json, const struct groups *groups, pid_t process)
{
    const struct groups_entry *entry = process ? info_groups_of(groups, process) : NULL;
    if (entry) {
        info_print_group(json, entry);
    } else if (process && groups->senseless_count > 0) {
        return cli_fail(COMMAND,
                        "the words of process %d's group make no sense: a node has "
                        "overwritten them, or it is of another version",
                        (int)process);
    } else if (process) {
        return cli_refuse(COMMAND, "process %d is in no group", (int)process);
    } else {
        info_print_machine(json);
        info_print_list(json, groups);
        if (groups->senseless_count > 0) {
            cli_say(COMMAND,
                    "left out: %zu with words that make no sense, overwritten by a node or "
                    "of another version",
                    groups->senseless_count);
        }
    }
    return CLI_OK;
}

int cli_info(int argc, char **argv)
{
    struct info_options options = {0};
    struct options_group group = {.rows = info_rows, .target = &options};
    struct groups groups;
    pid_t process = 0; /* all groups */
    int status;
    if (!options_read(&info_command, &group, 1, argc, argv, &status)) {
        return status;
    }
    status = options.process ? check_process(options.process, &process) : CLI_OK;
    if (status) {
        return status;
    }
    if (!info_groups_find(process, &groups)) {
        return cli_fail(COMMAND, "cannot look through /proc: %s", strerror(errno));
    }
    status = tell(options.json, &groups, process);
    info_groups_release(&groups);
    return status;
}
