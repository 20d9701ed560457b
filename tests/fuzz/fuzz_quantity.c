/*
 * Quantities: whatever is read prints as a text that reads as the same value, sums and products
 * stay within the bounds, and rounding up never makes a magnitude smaller.
 */
#include "base/quantity.h"
#include "fuzz.h"

#define NANO_PER_UNIT ((quantity_nano)1000000000)
#define BOUND ((quantity_nano)INT64_MAX * NANO_PER_UNIT)

static void check_bounds(struct quantity quantity)
{
    FUZZ_CHECK(quantity.nano <= BOUND && quantity.nano >= -BOUND);
}

static void check_text(struct quantity quantity)
{
    char text[QUANTITY_TEXT_MAX], again[QUANTITY_TEXT_MAX];
    size_t n = quantity_print(text, quantity);
    struct quantity back;
    FUZZ_CHECK(n == strlen(text));
    FUZZ_CHECK(quantity_parse(str_make(text, n), &back, NULL) == 0);
    FUZZ_CHECK(back.nano == quantity.nano);
    back.format = quantity.format; /* "46000" may have been binary */
    quantity_print(again, back);
    FUZZ_CHECK(strcmp(text, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quantity quantity;
    struct error err = ERROR_INIT;
    if (quantity_parse(fuzz_text(data, size), &quantity, &err) < 0) {
        FUZZ_CHECK(err.text[0] != '\0');
        return 0;
    }
    check_bounds(quantity);
    check_text(quantity);
    struct quantity doubled = quantity_add(quantity, quantity);
    check_bounds(doubled);
    FUZZ_CHECK(quantity_mul(quantity, 2).nano == doubled.nano);
    FUZZ_CHECK(quantity_sub(quantity, quantity).nano == 0);
    check_bounds(quantity_mul(quantity, INT64_MIN));
    quantity_nano up = (quantity_nano)quantity_value(quantity) * NANO_PER_UNIT;
    FUZZ_CHECK(quantity.nano < 0 ? up <= quantity.nano : up >= quantity.nano);
    FUZZ_CHECK(quantity_cmp(quantity, quantity) == 0);
    return 0;
}
