/* SPDX-License-Identifier: Apache-2.0 */
#include "held_events.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "provider.h"

struct held_event {
	struct held_event *next;
	const struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	pthread_t reader;
};

/* Guards the list. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct held_event *held;

int held_events_add(const struct rdma_event_channel *channel, struct rdma_cm_event *event)
{
	struct held_event *entry = malloc(sizeof(*entry));

	if (!entry)
		return -1;
	entry->channel = channel;
	entry->event = event;
	entry->reader = pthread_self();
	pthread_mutex_lock(&lock);
	entry->next = held;
	held = entry;
	pthread_mutex_unlock(&lock);
	return 0;
}

static bool has_type(const struct held_event *entry, const void *type)
{
	return (int)entry->event->event == *(const int *)type &&
	       pthread_equal(entry->reader, pthread_self());
}

static bool is_of_channel(const struct held_event *entry, const void *channel)
{
	return entry->channel == channel;
}

static bool is_about_id(const struct held_event *entry, const void *id)
{
	return entry->event->id == id || entry->event->listen_id == id;
}

/* Acknowledges outside the lock, as that wakes a thread in rdma_destroy_id. */
static void ack_matching(bool (*matches)(const struct held_event *, const void *), const void *key)
{
	struct held_event *taken = NULL;

	pthread_mutex_lock(&lock);
	for (struct held_event **link = &held; *link;) {
		struct held_event *entry = *link;

		if (!matches(entry, key)) {
			link = &entry->next;
			continue;
		}
		*link = entry->next;
		entry->next = taken;
		taken = entry;
	}
	pthread_mutex_unlock(&lock);
	while (taken) {
		struct held_event *next = taken->next;

		verbs.rdma_ack_cm_event(taken->event);
		free(taken);
		taken = next;
	}
}

void held_events_ack_type(int type)
{
	ack_matching(has_type, &type);
}

void held_events_ack_channel(const struct rdma_event_channel *channel)
{
	ack_matching(is_of_channel, channel);
}

void held_events_ack_id(const struct rdma_cm_id *id)
{
	ack_matching(is_about_id, id);
}
