#include <string.h>

#include "etl/hash.h"
#include "etl/strings.h"
#include "inject/callback_arguments.h"
#include "inject/callback_names.h"
#include "inject/injector.h"
#include "inject/plan.h"

/* Those of the driver's and the runtime's API are CUPTI's to tell; of others there are few. */
#define MOST_OTHERS 64
_Static_assert(ETL_MOST_CALLBACK_IDS == ETL_MAX_CBID, "callback ids");
static struct etl_callback_name functions[2][ETL_MAX_CBID];
static struct etl_callback_name others[ETL_CALLBACK_DOMAINS][MOST_OTHERS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set(struct etl_callback_name *to, const char *name, size_t length)
{
	to->text.text = name;
	to->text.length = length;
	to->text.hash = etl_hash(name, length);
}

static void load(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	for (uint32_t domain = 1; domain < ETL_CALLBACK_DOMAINS; domain++)
		for (uint32_t cbid = 1; cbid < ETL_MAX_CBID; cbid++) {
			const char *name = NULL;

			if (domain <= CUPTI_DOMAIN_RUNTIME) {
				if (!cupti->callback_name ||
				    cupti->callback_name(domain, cbid, &name) != CUPTI_OK || !name)
					continue;
				set(&functions[domain - 1][cbid], name, etl_bare_length(name));
				functions[domain - 1][cbid].shape = etl_shape_of(name);
			} else if (cbid < MOST_OTHERS) {
				name = etl_callback_id_name(domain, cbid);
				if (name)
					set(&others[domain][cbid], name, strlen(name));
			}
		}
}

void etl_callback_names_load(void)
{
	pthread_once(&once, load);
}

const struct etl_callback_name *etl_callback_name(uint32_t domain, uint32_t cbid)
{
	const struct etl_callback_name *found;

	if (domain == 0 || domain >= ETL_CALLBACK_DOMAINS ||
	    cbid >= (domain <= CUPTI_DOMAIN_RUNTIME ? ETL_MAX_CBID : MOST_OTHERS))
		return NULL;
	found = domain <= CUPTI_DOMAIN_RUNTIME ? &functions[domain - 1][cbid] : &others[domain][cbid];
	return found->text.text ? found : NULL;
}
