/* Turns and phases: what every collective call is made of. */
#include "base/random.h"
#include "host/clock.h"
#include "team/way.h"

static bool turn_is_free(void *context)
{
    _Atomic uint32_t *turn = context;
    return atomic_load_explicit(turn, memory_order_relaxed) == 0;
}

/* What is left until a deadline; for ever stays for ever. */
static uint64_t left_ns(uint64_t deadline_ns)
{
    uint64_t now_ns = host_now_ns();
    if (deadline_ns == UINT64_MAX) {
        return DN_FOREVER;
    }
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

int team_turn_await(struct dn_team *team, uint64_t *timeout_ns)
{
    uint64_t deadline_ns = host_deadline_ns(host_now_ns(), *timeout_ns);
    do {
        struct host_condition condition = {turn_is_free, host_nobody_left, &team->turn,
                                           GROUP_WATCH_NOTHING};
        int error = host_wait(team->node, &condition, left_ns(deadline_ns));
        if (error) {
            return error;
        }
    } while (!base_turn_try(&team->turn));
    *timeout_ns = left_ns(deadline_ns);
    return 0;
}

/* The same, whatever dies: whoever has the turn ends by itself. */
static void take_turn_at_last(struct dn_team *team)
{
    while (!base_turn_try(&team->turn)) {
        struct host_condition condition = {turn_is_free, NULL, &team->turn, GROUP_WATCH_NOTHING};
        (void)host_wait(team->node, &condition, DN_FOREVER);
    }
}

/* Completes what this node sent on any lane. */
static int complete_all_lanes(struct dn_node *node)
{
    struct host_process *process = node->process;
    int error = node->lane.ops->quiet(&process->default_lane->lane);
    pthread_mutex_lock(&process->table_lock);
    for (struct dn_node *lane = process->lanes; lane && !error; lane = lane->next) {
        if (host_node_open(lane)) {
            error = lane->lane.ops->quiet(&lane->lane);
        }
    }
    pthread_mutex_unlock(&process->table_lock);
    return error;
}

/* What an arrival tells those who do not see it in place. */
enum telling { TELLS_ARRIVAL, TELLS_CONTRIBUTION, TELLS_NOTHING };

static __attribute__((noinline, cold)) int arrive_in_steps(struct dn_team *team,
                                                           enum telling telling)
{
    int error = complete_all_lanes(team->node);
    /* Data lost on its way to a dead node does not stop this arrival: the phase tells what the
     * death means. */
    if (error && error != DN_EPEER) {
        return error;
    }
    team->way->settle_given(team);
    group_team_arrive(&team->nic, ++team->phase);
    team->arrival_is_open = true;
    team->brings_data = telling == TELLS_CONTRIBUTION;
    if (telling != TELLS_NOTHING) {
        team->way->tell_arrival(team, telling == TELLS_CONTRIBUTION);
    }
    return 0;
}

static inline int arrive(struct dn_team *team, enum telling telling)
{
    if (UNLIKELY(!team->arrives_by_store)) {
        return arrive_in_steps(team, telling);
    }
    group_team_arrive(&team->nic, ++team->phase);
    team->arrival_is_open = true;
    return 0;
}

int team_arrive(struct dn_team *team)
{
    return arrive(team, TELLS_ARRIVAL);
}

int team_arrive_in_tree(struct dn_team *team)
{
    return arrive(team, TELLS_NOTHING);
}

struct passage {
    struct dn_team *team;
    uint32_t phase;
    uint32_t next; /* the first member not yet seen to arrive */
};

static bool passed(void *context)
{
    struct passage *passage = context;
    return group_team_passed(&passage->team->nic, passage->phase, &passage->next);
}

/* The same, and takes what each member has brought. */
static bool passed_and_taken(void *context)
{
    struct passage *passage = context;
    struct dn_team *team = passage->team;
    const struct group_team *nic = &team->nic;
    const uint32_t phase = passage->phase;
    const uint64_t offset = nic->argument_offset;
    const uint64_t argument = team->argument;
    uint64_t *operands = team->operands;
    uint32_t index = passage->next;
    for (; index < nic->count && group_team_has_arrived(nic, index, phase); index++) {
        const _Atomic uint64_t *place = group_team_operand(nic, index, phase);
        operands[index] = atomic_load_explicit(place, memory_order_relaxed);
        if (UNLIKELY(atomic_load_explicit(place + offset, memory_order_relaxed) != argument)) {
            team->differs = true;
        }
    }
    passage->next = index;
    return index == nic->count;
}

static bool broken(const struct dn_node *node, void *context, bool forever)
{
    const struct passage *passage = context;
    const struct group_team *team = &passage->team->nic;
    (void)node;
    (void)forever;
    return group_team_broken(team, passage->phase) || group_team_is_revoked(team, passage->phase) ||
           group_team_was_taken_back(team, passage->phase);
}

void team_wake_members(const struct dn_team *handle)
{
    const struct group_team *team = &handle->nic;
    const struct group_view *view = team->view;
    bool anybody = false;
    for (uint32_t first = 0; first < view->node_count; first += 64) {
        anybody |= atomic_load_explicit(&view->group->sleeping[first / 64], memory_order_relaxed) !=
                   0;
    }
    for (uint32_t index = 0; UNLIKELY(anybody) && index < team->count; index++) {
        fabric_wake(view, team->ranks[index]);
    }
}

typedef bool (*team_look)(void *context);
typedef bool (*hopelessness)(const struct dn_node *node, void *context, bool forever);

static inline __attribute__((always_inline)) int pass(struct dn_team *team, uint64_t timeout_ns,
                                                      team_look look, hopelessness hopeless)
{
    struct passage passage = {team, team->phase, 0};
    if (fabric_stored_to_sleeps(&team->node->lane)) {
        fabric_wake_stored_to(&team->node->lane);
    }
    bool done = look(&passage);
    if (!done && host_close_polls_fit(team->node, timeout_ns)) {
        for (int poll = 0; poll < HOST_CLOSE_POLLS && !done; poll++) {
            cpu_relax_briefly();
            done = look(&passage);
        }
    }
    if (!done) {
        struct host_condition condition = {look, hopeless, &passage, GROUP_WATCH_NOTHING};
        int error = host_wait_word(team->node, &condition, FABRIC_MET, timeout_ns);
        if (error) {
            return error;
        }
    }
    int error = team_close_arrival(team);
    /* A member that sees the phase complete wakes those that sleep in it. */
    team_wake_members(team);
    return error;
}

bool team_has_passed(const struct dn_team *team)
{
    uint64_t word = atomic_load_explicit(&team->nic.revoked[team->nic.index], memory_order_relaxed);
    return team->is_given_up ? (uint32_t)word == team->phase : !team->arrival_is_open;
}

/* From now on every call finds an open arrival in a broken team, which calls look for anyway. */
void team_give_up(struct dn_team *team)
{
    if (!team->is_given_up) {
        bool has_passed = team_has_passed(team);
        group_team_revoke(&team->nic, has_passed ? team->phase : team->phase - 1, !has_passed);
        team->is_given_up = true;
        team->is_broken = true;
        team->arrival_is_open = true;
        team->way->tell_revoked(team);
        team_wake_members(team);
    }
}

int team_revoke(struct dn_team *team)
{
    if (!base_turn_try(&team->turn)) {
        /* Another thread is in a call, which perhaps only this ends. */
        group_team_revoke(&team->nic, atomic_load_explicit(&team->passed, memory_order_relaxed),
                          false);
        team->way->tell_revoked(team);
        team_wake_members(team);
        take_turn_at_last(team);
    }
    team_give_up(team);
    team_turn_give(team);
    /* Once this call returns, all who live will hear of it, whatever becomes of this node. */
    (void)fabric_settle(team_lane(team));
    return 0;
}

bool team_is_broken(struct dn_team *team)
{
    if (!team->is_broken && group_team_broken(&team->nic, team->phase)) {
        team->way->ask(team);
        team->is_broken = group_team_broken(&team->nic, team->phase);
    }
    if (!team->is_broken && group_team_is_revoked(&team->nic, team->phase)) {
        /* Tells it again, in case that the one who told it died before it had told all. */
        team_give_up(team);
    } else if (!team->is_broken) {
        group_team_restore_arrivals(&team->nic, team->phase);
    }
    return team->is_broken;
}

/* Passes after all if another member has seen the dead one arrive. */
static __attribute__((noinline, cold)) int pass_after_asking(struct dn_team *team,
                                                             uint64_t timeout_ns, team_look look)
{
    int error = DN_EPEER;
    while (error == DN_EPEER && !team_is_broken(team)) {
        error = pass(team, timeout_ns, look, broken);
    }
    return error;
}

int team_pass(struct dn_team *team, uint64_t timeout_ns)
{
    int error = pass(team, timeout_ns, passed, broken);
    return LIKELY(error != DN_EPEER) ? error : pass_after_asking(team, timeout_ns, passed);
}

/* Waits for ever. DN_EMISMATCH: some member's argument differs. */
static int pass_and_take(struct dn_team *team)
{
    team->differs = false;
    int error = pass(team, DN_FOREVER, passed_and_taken, broken);
    if (UNLIKELY(error == DN_EPEER)) {
        error = pass_after_asking(team, DN_FOREVER, passed_and_taken);
    }
    return error || LIKELY(!team->differs) ? error : DN_EMISMATCH;
}

/* Whoever waits here for a team that it splits may do so in vain when that one is given up. */
static bool lacks_somebody(const struct dn_node *node, void *context, bool forever)
{
    const struct passage *passage = context;
    (void)node;
    (void)forever;
    const struct group_team *whole = passage->team->whole;
    return group_team_lacks(&passage->team->nic) || (whole && group_team_is_given_up(whole));
}

int team_first_phase(struct dn_team *team)
{
    int error = team_arrive(team);
    error = error ? error : pass(team, DN_FOREVER, passed, lacks_somebody);
    bool is_made = error == 0 || group_team_was_passed(&team->nic, team->phase);
    if (team->way->decide(team, is_made)) {
        team_note_passed(team);
        return 0;
    }
    return error ? error : DN_EPEER;
}

/* No other call may run while a barrier is open. A barrier that a death broke stays open for
 * ever. */
int team_check_closed(struct dn_team *team)
{
    if (LIKELY(!team->arrival_is_open)) {
        return 0;
    }
    return team_is_broken(team) ? DN_EPEER : DN_EMISMATCH;
}

int team_exchange(struct dn_team *team, uint64_t operand, uint64_t argument)
{
    int error = team_check_closed(team);
    if (UNLIKELY(error)) {
        return error;
    }
    /* A member that is in a plain barrier instead leaves its word of two phases ago, perhaps of
     * the same call. With the phase in it, no old word equals a new one. */
    team->argument = argument + UINT64_C(0x9e3779b97f4a7c15) * (team->phase + 1);
    team_contribute(team, operand, team->argument);
    error = arrive(team, TELLS_CONTRIBUTION);
    return error ? error : pass_and_take(team);
}

int team_refuse(struct dn_team *team, int error)
{
    int failed = team_turn_take_patiently(team);
    if (!failed) {
        failed = team_exchange(team, 0, team_digest(TEAM_REFUSED, 0, 0));
        team_turn_give(team);
    }
    return failed && failed != DN_EMISMATCH ? failed : error;
}

uint64_t team_digest(uint32_t call, uint64_t first, uint64_t second)
{
    struct base_random mixer = {call};
    mixer.state ^= base_random_next(&mixer) + first;
    mixer.state ^= base_random_next(&mixer) + second;
    return base_random_next(&mixer);
}
