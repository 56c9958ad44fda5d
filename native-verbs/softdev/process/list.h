/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists. A struct list is either the head of a list or embedded in an element; both begin as zeros. The caller locks.
 */
#ifndef SOFTDEV_LIST_H
#define SOFTDEV_LIST_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *previous, *next;
};

static inline bool list_is_empty(const struct list *head)
{
	return !head->next || head->next == head;
}

/* Returns true if the element is in a list. */
static inline bool list_has(const struct list *element)
{
	return element->next;
}

/* Adds the element in front of `place`; at the end of the list if that is the head. */
static inline void list_add(struct list *place, struct list *element)
{
	if (!place->next)
		place->previous = place->next = place;
	*element = (struct list){.previous = place->previous, .next = place};
	place->previous->next = element;
	place->previous = element;
}

/* Takes the element out of its list, if it is in one. */
static inline void list_remove(struct list *element)
{
	if (!element->next)
		return;
	element->previous->next = element->next;
	element->next->previous = element->previous;
	*element = (struct list){0};
}

/* The first element of a list, as a pointer to the struct that it is embedded in; NULL if the list is empty. */
#define LIST_FIRST(head, type, member) (list_is_empty(head) ? NULL : container_of_((head)->next, type, member))

/* The body must not take `at` out of the list. */
#define LIST_EACH(at, head) for (struct list *at = (head)->next; at && at != (head); at = at->next)

#endif
