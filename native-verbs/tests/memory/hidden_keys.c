/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that may use one key finds no other in what the process shows to it: neither one that lets it WRITE to another region
 * over the wire, nor that of the region it may use; nor does it learn where
 * regions lie that nobody may READ. Asking whether a key is right is counted like using it.
 */
#include "offer.h"
#include "raw_requester.h"

enum { BYTES = 4096, GUESSES = 300 };

struct hidden {
	struct offer offer;
	uint32_t hidden;
	uint64_t private_address;
};

static bool shows(const struct shared_table *table, uint32_t key)
{
	const uint32_t *words = (const uint32_t *)(const void *)table;

	for (size_t i = 0; i < sizeof(*table) / sizeof(*words); i++)
		if (words[i] == key)
			return true;
	return false;
}

/* Several guesses in one question: the answer tells of the first one only. */
static void expect_one_answer(int fd, uint32_t rkey, uint64_t generation)
{
	struct frame frame = {.op = WIRE_FILE_REQUEST, .length = WIRE_KEYS * sizeof(struct wire_key)};
	struct wire_key keys[WIRE_KEYS];

	for (int i = 0; i < WIRE_KEYS; i++)
		keys[i] = (struct wire_key){.generation = generation, .rkey = rkey ^ (1 + i)};
	CHECK(raw_write_frame(fd, &frame, keys) && raw_read_frame(fd, &frame, keys, sizeof(keys)));
	CHECK_EQUAL(frame.length, sizeof(*keys));
	CHECK_EQUAL(keys[0].status, EACCES);
}

static void intrude(int control)
{
	const struct shared_table *table;
	struct hidden secret;
	uint64_t generation;
	int fd, refused = 0;

	test_receive(control, &secret, sizeof(secret));
	fd = raw_requester_enter(&secret.offer.address, &table);
	CHECK(!shows(table, secret.hidden));
	CHECK(!shows(table, secret.offer.rkey));
	CHECK(shows(table, (uint32_t)secret.offer.addr) && !shows(table, (uint32_t)secret.private_address));
	generation = table->mr[secret.offer.rkey >> 16].generation;
	CHECK_EQUAL(raw_ask_for_file(fd, secret.offer.rkey, generation), 0);
	CHECK_EQUAL(raw_ask_for_file(fd, secret.offer.rkey, generation + 2), ESTALE);
	generation = table->mr[secret.hidden >> 16].generation;
	expect_one_answer(fd, secret.hidden, generation);
	while (refused < GUESSES && raw_ask_for_file(fd, secret.hidden ^ (1 + refused), generation) == EACCES)
		refused++;
	CHECK(refused > 0 && refused <= 256);
}

int main(void)
{
	struct test_peer peer = test_start_peer(intrude);
	struct region *region, *hidden, *private;
	struct hidden secret;
	struct side side;

	open_side(&side, 16, 16);
	region = add_region(&side, BYTES, ALL_REMOTE);
	hidden = add_region(&side, BYTES, ALL_REMOTE);
	private = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	connect_to_raw(&side);
	secret = (struct hidden){offer_of(&side, region), hidden->mr->rkey, (uintptr_t)private->bytes};
	test_send(peer.fd, &secret, sizeof(secret));
	test_join_peer(&peer);
	close_side(&side);
}
