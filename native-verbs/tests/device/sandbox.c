/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox may take away: without AF_NETLINK the device says once that it has one address alone; without the options of
 * sockets that only help, connections over TCP work all the same; without process_vm_readv an executor's log, which shows
 * errors only, says what that costs; without random numbers the device does not open, and says so.
 */
#include "captured.h"
#include "cm_fixture.h"
#include "denied.h"
#include "offer.h"

#include <linux/in.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>

enum { BYTES = 4096 };

static void without_netlink(void)
{
	struct capture capture = capture_stderr();
	struct side side;

	deny_call(SYS_socket, 0, AF_NETLINK, EAFNOSUPPORT);
	open_side(&side, 16, 16);
	address_of(&side);
	close_side(&side);
	end_capture(&capture);
	CHECK_EQUAL(lines_with(capture.log, "the addresses of this host cannot be read", "SOFTVERBS_ADDRESS"), 1);
}

static void serve(int fd)
{
	serve_region(fd, BYTES);
}

static void read_region(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct region *sink;
	struct offer offer;
	struct side side;

	offer = open_reader(peer.fd, &side, BYTES, NULL, &sink);
	read_and_expect(&side, 1, sink, BYTES, offer.addr, offer.rkey, IBV_WC_SUCCESS);
	test_finish_peer(&peer);
	close_side(&side);
}

static void without_options(void)
{
	setenv("SOFTVERBS_PATH", "tcp", 1);
	setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	deny_call(SYS_setsockopt, 2, IP_BIND_ADDRESS_NO_PORT, ENOPROTOOPT);
	deny_call(SYS_setsockopt, 2, TCP_USER_TIMEOUT, ENOPROTOOPT);
	read_region();
}

static void without_process_vm_readv(void)
{
	struct capture capture = capture_stderr();
	char own_error[32];

	deny_call(SYS_process_vm_readv, 2, 1, ENOSYS); /* of one piece, as the device asks first */
	read_region();
	end_capture(&capture);
	/* The other process may say it of this one, too. */
	snprintf(own_error, sizeof(own_error), "[%d] error", (int)getpid());
	CHECK_EQUAL(lines_with(capture.log, own_error, "READs of its memory go as frames"), 1);
}

static void without_random_numbers(void)
{
	struct capture capture = capture_stderr();
	struct ibv_device **list = softverbs_ibv_get_device_list(NULL);
	struct rdma_cm_id *id;

	deny_call(SYS_getrandom, 2, 0, ENOSYS);
	CHECK_REFUSED(softverbs_ibv_open_device(list[0]), EIO);
	CHECK_FAILS(softverbs_rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), EIO);
	softverbs_ibv_free_device_list(list);
	end_capture(&capture);
	CHECK_EQUAL(lines_with(capture.log, "random numbers", "allow"), 2);
}

int main(void)
{
	unsetenv("SOFTVERBS_LOG");
	test_run_apart(without_netlink);
	test_run_apart(without_options);
	test_run_apart(without_process_vm_readv);
	test_run_apart(without_random_numbers);
}
