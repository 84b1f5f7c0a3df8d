/* Every code has a sentence that begins with its name; codes from below find theirs. */
#include "fagus/space.h"

#include "unit/unit.h"

static void sentences(void **unused)
{
    (void)unused;
    for (int code = FAGUS_ESYSTEM; code <= FAGUS_OK; code++) {
        const char *sentence = fagus_strerror(code);
        assert_int_equal(strncmp(sentence, "FAGUS_", 6), 0);
        for (int other = FAGUS_ESYSTEM; other < code; other++) {
            assert_string_not_equal(sentence, fagus_strerror(other));
        }
    }
    assert_int_equal(strncmp(fagus_strerror(FAGUS_ELOST), "FAGUS_ELOST: ", 13), 0);
    assert_string_equal(fagus_strerror(1), "unknown error code");
    assert_string_equal(fagus_strerror(FAGUS_ESYSTEM - 1), "unknown error code");
}

static void codes_from_below(void **unused)
{
    (void)unused;
    static const int pairs[][2] = {
        {DN_OK, FAGUS_OK},
        {DN_EPEER, FAGUS_EPEER},
        {DN_ETIMEOUT, FAGUS_ETIMEOUT},
        {DN_ENOMEM, FAGUS_ENOMEM},
        {DN_EFULL, FAGUS_EFULL},
        {DN_EMISMATCH, FAGUS_EMISMATCH},
        {DN_EOWNERDEAD, FAGUS_EOWNERDEAD},
        {DN_EBUSY, FAGUS_EBUSY},
        {DN_ENOTHELD, FAGUS_ENOTHELD},
        {DN_ESYSTEM, FAGUS_ESYSTEM},
        {DN_ERANGE, FAGUS_ERANGE},
        {DN_ESTATE, FAGUS_ESTATE},
        {DN_EGROUP, FAGUS_ESTATE},
        {DN_EVERSION, FAGUS_ESTATE},
        {DN_EALIGN, FAGUS_EINVAL},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        assert_int_equal(fagus_error_of(pairs[i][0]), pairs[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),
        cmocka_unit_test(codes_from_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
