/* Feeds files, and all files of folders, to a fuzz target, so that every build can run the corpus,
 * also without libFuzzer.
 *
 * usage: TARGET FILE_OR_FOLDER... */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

enum { INPUT_BYTES_MAX = 1 << 20, PATH_BYTES_MAX = 4096 };

static bool replay_file(const char *path)
{
    static uint8_t input[INPUT_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    size_t bytes = fread(input, 1, sizeof input, file);
    bool whole = ferror(file) == 0 && feof(file) != 0;
    fclose(file);
    if (!whole) {
        fprintf(stderr, "%s: cannot be read whole\n", path);
        return false;
    }
    /* If the target aborts, this is what it was working on. */
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(input, bytes);
    return true;
}

/* Gives how many files were fed; -1: one could not be read. */
static long replay(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return replay_file(path) ? 1 : -1;
    }
    long count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(folder)) != NULL;) {
        char inside[PATH_BYTES_MAX];
        if (entry->d_name[0] == '.') {
            continue;
        }
        int length = snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        bool fed = length > 0 && (size_t)length < sizeof inside && replay_file(inside);
        count = fed ? count + 1 : -1;
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    long total = 0;
    for (int i = 1; i < argc; i++) {
        long count = replay(argv[i]);
        if (count < 0) {
            return 1;
        }
        total += count;
    }
    printf("%ld inputs\n", total);
    return total > 0 ? 0 : 1;
}
