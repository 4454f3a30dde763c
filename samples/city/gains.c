#include "city.h"

int city_gains(struct city *city, const struct kit_options *options)
{
    (void)city; (void)options;
    return 0;
}
