/* SPDX-License-Identifier: Apache-2.0 */
#include "link/strangers.h"

#include "engine.h"
#include "process/log.h"

struct strangers_state {
	struct list all; /* the one that came first is the first */
	int count;
	struct list outside; /* the listeners that wait for room */
	struct progress_timer impatience;
};

ENGINE_PART(strangers, NULL);

/* Returns the one that may be ended first. */
static struct stranger *first_to_go(void)
{
	struct stranger *first = NULL;

	LIST_EACH(at, &engine->strangers->all) {
		struct stranger *stranger = container_of_(at, struct stranger, place);

		if (!first || stranger->until_ns < first->until_ns)
			first = stranger;
	}
	return first;
}

static void end_one(struct stranger *stranger)
{
	log_warn("%d connections wait to prove who they are, and more want to: dropping one", MAX_STRANGERS);
	stranger->drop(stranger->owner);
}

/* Ends one, which lets the listeners in. */
static void on_impatience(void *unused)
{
	(void)unused;
	end_one(first_to_go());
}

void stranger_enter(struct stranger *stranger, uint64_t stay_ns, void (*drop)(void *owner), void *owner)
{
	*stranger = (struct stranger){.until_ns = progress_now_ns() + stay_ns, .drop = drop, .owner = owner};
	list_add(&engine->strangers->all, &stranger->place);
	engine->strangers->count++;
}

void stranger_leave(struct stranger *stranger)
{
	struct outside *first;

	if (!list_has(&stranger->place))
		return;
	list_remove(&stranger->place);
	engine->strangers->count--;
	progress_timer_cancel(&engine->strangers->impatience);
	while ((first = LIST_FIRST(&engine->strangers->outside, struct outside, place))) {
		list_remove(&first->place);
		first->on_room(first->owner);
	}
}

bool strangers_have_room(struct outside *outside)
{
	struct strangers_state *strangers = engine->strangers;
	struct stranger *first;

	if (strangers->count < MAX_STRANGERS)
		return true;
	first = first_to_go();
	if (first->until_ns <= progress_now_ns()) {
		end_one(first);
		return true;
	}
	list_add(&strangers->outside, &outside->place);
	strangers->impatience.callback = on_impatience;
	progress_timer_set(&strangers->impatience, first->until_ns);
	return false;
}
