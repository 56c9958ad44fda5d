/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes, each connected to each: chained lists of READs, one signalled in each list, from two threads
 * on shared QPs and one CQ with events, bring the right bytes of every region.
 */
#include "offer.h"

#include <pthread.h>

enum { NODES = 4, LISTS = 150, CHAIN = 8, BLOCK = 3000, REGION_BYTES = 1 << 20, THREADS = 2 };

/* Shared by the processes before they start. */
struct board {
	struct offer offers[NODES][NODES]; /* of each node to each node, by a queue pair of its own */
	pthread_barrier_t barrier;
};

static struct board *board;

struct node {
	unsigned int number;
	struct side side;
	struct ibv_qp *qps[NODES];
	struct region *source, *sink;
};

struct reader {
	struct node *node;
	unsigned int number;
	unsigned int completed; /* by the thread that polls */
};

static uint8_t byte_at(unsigned int node, uint64_t offset)
{
	return (offset * 31 + offset / 257 + node * 97) & 0xff;
}

static void open_node(struct node *node, unsigned int number)
{
	node->number = number;
	open_side(&node->side, 1024, 16);
	node->source = add_region(&node->side, REGION_BYTES, IBV_ACCESS_REMOTE_READ);
	node->sink = add_region(&node->side, REGION_BYTES, IBV_ACCESS_LOCAL_WRITE);
	for (uint64_t i = 0; i < REGION_BYTES; i++)
		node->source->bytes[i] = byte_at(number, i);
	for (int i = 0; i < NODES; i++) {
		struct side end = node->side;

		end.qp = node->qps[i] = create_qp(&node->side, 128);
		board->offers[number][i] = offer_of(&end, node->source);
	}
}

static void connect_node(struct node *node)
{
	static const struct connection usual;

	for (int i = 0; i < NODES; i++) {
		to_init(node->qps[i], ALL_REMOTE);
		to_rtr(node->qps[i], &board->offers[i][node->number].address, &usual);
	}
	pthread_barrier_wait(&board->barrier);
	for (int i = 0; i < NODES; i++)
		to_rts(node->qps[i], &usual);
}

static uint64_t offset_of(unsigned int list, unsigned int index)
{
	return (list * 7919 + index * 104729) % (REGION_BYTES - BLOCK);
}

static void post_list(const struct reader *reader, unsigned int list)
{
	struct node *node = reader->node;
	unsigned int peer = list % NODES;
	const struct offer *offer = &board->offers[peer][node->number];
	struct ibv_send_wr wrs[CHAIN], *bad;
	struct ibv_sge sges[CHAIN];

	for (unsigned int i = 0; i < CHAIN; i++) {
		sges[i] = sge_of(node->sink, (reader->number * CHAIN + i) * BLOCK, BLOCK);
		chain_read(wrs, i, CHAIN, &sges[i], offer->addr + offset_of(list, i), offer->rkey);
		wrs[i].wr_id = reader->number;
		wrs[i].send_flags = wrs[i].next ? 0 : IBV_SEND_SIGNALED;
	}
	CHECK_EQUAL(ibv_post_send(node->qps[peer], wrs, &bad), 0);
}

static void *read_all(void *argument)
{
	struct reader *reader = argument;

	for (unsigned int list = 0; list < LISTS; list++) {
		post_list(reader, list);
		AWAIT(__atomic_load_n(&reader->completed, __ATOMIC_ACQUIRE) != list);
		for (unsigned int i = 0; i < CHAIN; i++)
			for (uint64_t at = 0; at < BLOCK; at += 499)
				CHECK_EQUAL(reader->node->sink->bytes[(reader->number * CHAIN + i) * BLOCK + at],
					    byte_at(list % NODES, offset_of(list, i) + at));
	}
	return NULL;
}

static void poll_until_done(struct node *node, struct reader *readers)
{
	for (unsigned int rest = THREADS * LISTS;;) {
		struct ibv_wc wc;

		CHECK_EQUAL(ibv_req_notify_cq(node->side.cq, 0), 0);
		while (ibv_poll_cq(node->side.cq, 1, &wc) == 1) {
			CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
			__atomic_add_fetch(&readers[wc.wr_id].completed, 1, __ATOMIC_RELEASE);
			rest--;
		}
		if (!rest)
			return;
		take_cq_event(node->side.channel);
	}
}

static void run_node(unsigned int number)
{
	struct reader readers[THREADS];
	pthread_t threads[THREADS];
	struct node node = {0};

	open_node(&node, number);
	pthread_barrier_wait(&board->barrier);
	connect_node(&node);
	for (unsigned int i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){.node = &node, .number = i};
		CHECK(!pthread_create(&threads[i], NULL, read_all, &readers[i]));
	}
	poll_until_done(&node, readers);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	pthread_barrier_wait(&board->barrier);
	for (int i = 0; i < NODES; i++)
		CHECK_EQUAL(softverbs_ibv_destroy_qp(node.qps[i]), 0);
	close_side(&node.side);
	check_no_leaks();
}

static void body(void)
{
	pthread_barrierattr_t shared;
	pid_t pids[NODES];

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	CHECK(!pthread_barrier_init(&board->barrier, &shared, NODES));
	for (unsigned int i = 0; i < NODES; i++) {
		pids[i] = test_fork();
		if (!pids[i]) {
			alarm(TEST_SECONDS);
			run_node(i);
			exit(0);
		}
	}
	for (int i = 0; i < NODES; i++)
		test_join(pids[i]);
}

MAIN(on_each_path, body)
