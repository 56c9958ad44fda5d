/* SPDX-License-Identifier: Apache-2.0 */
#include "link/strangers.h"

#include "process/log.h"

/* Returns the one that may be ended first. */
static struct stranger *first_to_go(const struct strangers *strangers)
{
	struct stranger *first = NULL;

	LIST_EACH(at, &strangers->all) {
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
static void on_impatience(void *owner)
{
	end_one(first_to_go(owner));
}

void stranger_enter(struct strangers *strangers, struct stranger *stranger, uint64_t stay_ns, void (*drop)(void *owner),
		    void *owner)
{
	*stranger = (struct stranger){
		.among = strangers,
		.until_ns = progress_now_ns() + stay_ns,
		.drop = drop,
		.owner = owner,
	};
	list_add(&strangers->all, &stranger->place);
	strangers->count++;
}

void stranger_leave(struct stranger *stranger)
{
	struct strangers *strangers = stranger->among;
	struct outside *first;

	if (!strangers)
		return;
	stranger->among = NULL;
	list_remove(&stranger->place);
	strangers->count--;
	progress_timer_cancel(&strangers->impatience);
	while ((first = LIST_FIRST(&strangers->outside, struct outside, place))) {
		list_remove(&first->place);
		first->on_room(first->owner);
	}
}

bool strangers_have_room(struct strangers *strangers, struct outside *outside)
{
	struct stranger *first;

	if (strangers->count < MAX_STRANGERS)
		return true;
	first = first_to_go(strangers);
	if (first->until_ns <= progress_now_ns()) {
		end_one(first);
		return true;
	}
	list_add(&strangers->outside, &outside->place);
	strangers->impatience.callback = on_impatience;
	strangers->impatience.owner = strangers;
	progress_timer_set(&strangers->impatience, first->until_ns);
	return false;
}
