/* SPDX-License-Identifier: Apache-2.0 */
#include "link/strangers.h"

#include "process/log.h"

#define STAY_NS 1000000000ull

static void end_one(struct stranger *stranger)
{
	log_warn("%d connections wait to prove who they are, and more want to: dropping one", MAX_STRANGERS);
	stranger->drop(stranger->owner);
}

/* Ends the one that came first, which lets the listeners in. */
static void on_impatience(void *owner)
{
	struct strangers *strangers = owner;

	end_one(LIST_FIRST(&strangers->all, struct stranger, place));
}

void stranger_enter(struct strangers *strangers, struct stranger *stranger, bool may_stay, void (*drop)(void *owner),
		    void *owner)
{
	*stranger = (struct stranger){
		.among = strangers,
		.until_ns = may_stay ? progress_now_ns() + STAY_NS : 0,
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
	if (strangers->count < MAX_STRANGERS)
		return true;
	LIST_EACH(at, &strangers->all) {
		struct stranger *stranger = container_of_(at, struct stranger, place);

		if (!stranger->until_ns) {
			end_one(stranger);
			return true;
		}
	}
	list_add(&strangers->outside, &outside->place);
	strangers->impatience.callback = on_impatience;
	strangers->impatience.owner = strangers;
	progress_timer_set(&strangers->impatience, LIST_FIRST(&strangers->all, struct stranger, place)->until_ns);
	return false;
}
