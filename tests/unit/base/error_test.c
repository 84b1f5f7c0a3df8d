/* Every error code has a name and a sentence of its own. */
#include "unit/unit.h"

#include "base/error.h"
#include "dimmnet.h"

static void every_code_has_its_name_and_sentence(void **state)
{
    (void)state;
    for (int code = DN_ERIGHTS; code <= DN_OK; code++) {
        const char *name = base_error_name(code);
        const char *sentence = base_error_sentence(code);
        assert_true(base_error_is_known(code));
        assert_memory_equal(name, "DN_", 3);
        /* The sentence starts with the name, so that it can be searched for. */
        size_t name_bytes = strlen(name);
        assert_memory_equal(sentence, name, name_bytes);
        assert_memory_equal(sentence + name_bytes, ": ", 2);
        assert_true(strlen(sentence) > name_bytes + 2);
        for (int other = DN_ERIGHTS; other < code; other++) {
            assert_string_not_equal(name, base_error_name(other));
            assert_string_not_equal(sentence + name_bytes,
                                    base_error_sentence(other) + strlen(base_error_name(other)));
        }
    }
}

static void names_match_the_codes(void **state)
{
    (void)state;
    assert_string_equal(base_error_name(DN_OK), "DN_OK");
    assert_string_equal(base_error_name(DN_EPEER), "DN_EPEER");
    assert_string_equal(base_error_name(DN_ESYSTEM), "DN_ESYSTEM");
}

static void unknown_codes_are_said_to_be_so(void **state)
{
    (void)state;
    static const int unknown[] = {1, DN_ERIGHTS - 1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_false(base_error_is_known(unknown[i]));
        assert_string_equal(base_error_name(unknown[i]), "unknown");
        assert_string_equal(base_error_sentence(unknown[i]), "unknown error code");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_name_and_sentence),
        cmocka_unit_test(names_match_the_codes),
        cmocka_unit_test(unknown_codes_are_said_to_be_so),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
