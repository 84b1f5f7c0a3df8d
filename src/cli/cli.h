/* The subcommands of `dimmnet`, and how they report mistakes. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* Exit statuses that mean the same for every subcommand. */
enum {
    CLI_OK = 0,
    CLI_FAULT = 1, /* the operating system refused something */
    CLI_USAGE = 2, /* the command line or the environment makes no sense */
};

/* argv[0] is the subcommand's own name. Each returns an exit status. */
int cli_run(int argc, char **argv);
int cli_perf(int argc, char **argv);
int cli_storm(int argc, char **argv);
int cli_sim(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_board(int argc, char **argv);
/* The command that a launcher starts on other hosts. */
int cli_agent(int argc, char **argv);

/* Writes one line to stderr at once: "COMMAND: ...". */
void cli_say(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Do the same and give a status: CLI_USAGE for a mistake of the user's, CLI_FAULT for a fault. */
#define cli_refuse(...) (cli_say(__VA_ARGS__), CLI_USAGE)
#define cli_fail(...) (cli_say(__VA_ARGS__), CLI_FAULT)

/* Shows how far a command has come, on stderr if that is a terminal, in place of what was shown
 * before; clearing it is for what is printed next. */
void cli_show_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_clear_progress(void);

/* Prints a JSON string with its quotes; null for NULL. */
void cli_json_text(const char *text);
/* Prints ,"name":"text": one more member of an object. */
void cli_json_member(const char *name, const char *text);

#endif
