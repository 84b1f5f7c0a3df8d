/* Nodes of which two no longer hear each other, while the others hear both.
 *
 *     udp_half_seen
 *
 * All go through barriers until one breaks. Then those that are left shrink the team and go through
 * more barriers, until ROUNDS in a row have passed. A node's last words are "left R: Q ...", the
 * ranks of its last team, and "survived R". Run with --keep-going. */
#include "live/live.h"

enum { ROUNDS = 200, PAUSE_MS = 5 };

static void say_left(struct dn_team *team)
{
    char line[256];
    int at = snprintf(line, sizeof line, "left %d:", me.rank);
    for (int number = 0; number < dn_team_size(team); number++) {
        at += snprintf(line + at, sizeof line - (size_t)at, " %d", dn_team_node_rank(team, number));
    }
    (void)dprintf(STDOUT_FILENO, "%s\n", line);
}

/* One more barrier; or a team without those that are gone. Gives the error of the barrier. */
static int go_on(struct dn_team **team)
{
    int error = dn_barrier(*team, LIVE_PATIENCE_NS);
    if (error) {
        struct dn_team *left;
        expect(error, DN_EPEER);
        expect(dn_team_shrink(*team, &left), 0);
        *team = left;
    }
    return error;
}

int main(void)
{
    struct dn_team *team;
    live_attach();
    team = dn_team_all(me.node);
    live_barrier();
    (void)dprintf(STDOUT_FILENO, "together %d\n", me.rank);
    me.check = "barriers until one breaks";
    while (go_on(&team) == 0) {
        live_sleep_ns(PAUSE_MS * LIVE_MS);
    }
    me.check = "barriers of those that are left";
    for (int passed = 0; passed < ROUNDS;) {
        passed = go_on(&team) == 0 ? passed + 1 : 0;
        live_sleep_ns(PAUSE_MS * LIVE_MS);
    }
    say_left(team);
    me.check = "end";
    expect(dn_detach(me.node), 0);
    (void)dprintf(STDOUT_FILENO, "survived %d\n", me.rank);
    return 0;
}
