/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener answers no datagram but a whole request, takes no connection without the cookie of its answer, and
 * outlives whatever frames a peer sends on one. Descriptors that come along are closed.
 */
#include "cm/cm_wire.h"
#include "cm_fixture.h"
#include "descriptors.h"
#include "raw_link.h"

enum { SILENCE_MS = 100 };

static void serve(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener, *id;
	uint16_t port;
	int descriptors;

	listener = cm_listen_on(channel, CM_LOOPBACK, 8, &port);
	descriptors = open_descriptors();
	test_send(fd, &port, sizeof(port));
	id = cm_take_id(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	test_signal(fd);
	/* No frame but the end of the link says something about a request that waits. */
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_REJECTED), CM_REJECT_TIMEOUT);
	CHECK(!softverbs_rdma_destroy_id(id));
	expect_descriptors(descriptors);
	CHECK(!test_readable(channel->fd, 0));
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
}

static bool write_frame(int fd, const struct frame *frame, const void *payload)
{
	struct iovec iov[] = {{(void *)(uintptr_t)frame, sizeof(*frame)},
			      {(void *)(uintptr_t)payload, frame->length}};

	return writev(fd, iov, 2) == (ssize_t)(sizeof(*frame) + frame->length);
}

/* The same with a descriptor. */
static void send_frame_with_fd(int fd, const struct frame *frame, const void *payload)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec iov[] = {{(void *)(uintptr_t)frame, sizeof(*frame)},
			      {(void *)(uintptr_t)payload, frame->length}};
	struct msghdr message = {.msg_iov = iov,
				 .msg_iovlen = 2,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	CHECK_EQUAL(sendmsg(fd, &message, MSG_NOSIGNAL), sizeof(*frame) + frame->length);
}

static void expect_end(int fd)
{
	char byte;

	CHECK(test_readable(fd, EVENT_WAIT_MS));
	CHECK(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

static void expect_silence(int udp, const struct cm_datagram *datagram, size_t length)
{
	CHECK_EQUAL(send(udp, datagram, length, 0), length);
	CHECK(!test_readable(udp, SILENCE_MS));
}

/* What the listener answers, after it was silent about what is not quite a request. */
static struct cm_datagram look_up(int udp)
{
	struct cm_datagram request = {.magic = CM_DATAGRAM_MAGIC,
				      .version = CM_WIRE_VERSION,
				      .kind = CM_DATAGRAM_REQUEST,
				      .client_nonce = {1, 2, 3}};
	struct cm_datagram padded[2] = {request}, other = request, answer;

	expect_silence(udp, &request, sizeof(request) - 1);
	expect_silence(udp, padded, sizeof(padded));
	other.magic++;
	expect_silence(udp, &other, sizeof(other));
	other = request;
	other.version++;
	expect_silence(udp, &other, sizeof(other));
	other = request;
	other.kind = CM_DATAGRAM_REPLY;
	expect_silence(udp, &other, sizeof(other));

	test_send(udp, &request, sizeof(request));
	test_receive(udp, &answer, sizeof(answer));
	CHECK_EQUAL(answer.kind, CM_DATAGRAM_REPLY);
	CHECK(!memcmp(answer.client_nonce, request.client_nonce, sizeof(request.client_nonce)));
	return answer;
}

static int open_link(const struct cm_datagram *answer)
{
	int fd = raw_link_connect(ntohs(answer->process_port));

	raw_link_shake_hands(fd, LINK_KIND_CM, write_frame);
	return fd;
}

static struct cm_request request_from(int udp, const struct cm_datagram *answer, uint16_t port)
{
	struct cm_request request = {.version = CM_WIRE_VERSION,
				     .source = {[10] = 0xff, 0xff, 127, 0, 0, 1},
				     .destination = {[10] = 0xff, 0xff, 127, 0, 0, 1},
				     .destination_port = port};
	struct sockaddr_in own;
	socklen_t length = sizeof(own);

	CHECK(!getsockname(udp, (struct sockaddr *)&own, &length));
	request.source_port = own.sin_port;
	memcpy(request.client_nonce, answer->client_nonce, sizeof(request.client_nonce));
	memcpy(request.cookie, answer->cookie, sizeof(request.cookie));
	return request;
}

int main(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct frame frame = {.op = CM_FRAME_REQUEST, .length = sizeof(struct cm_request)};
	static const uint8_t zeros[LINK_MAX_BUFFERED];
	struct sockaddr_storage address;
	struct cm_request request, forged;
	struct cm_datagram answer;
	uint16_t port;
	int udp, fd;

	test_receive(peer.fd, &port, sizeof(port));
	address = cm_address("127.0.0.1", port);
	udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(!connect(udp, (struct sockaddr *)&address, sizeof(struct sockaddr_in)));
	answer = look_up(udp);
	request = request_from(udp, &answer, port);

	forged = request;
	forged.cookie[0] ^= 1;
	fd = open_link(&answer);
	send_frame_with_fd(fd, &frame, &forged);
	expect_end(fd);
	forged = request;
	forged.source_port ^= 1;
	fd = open_link(&answer);
	CHECK(write_frame(fd, &frame, &forged));
	expect_end(fd);
	fd = open_link(&answer);
	frame.length--;
	CHECK(write_frame(fd, &frame, &request));
	expect_end(fd);
	frame.length++;

	fd = open_link(&answer);
	CHECK(write_frame(fd, &frame, &request));
	test_await(peer.fd);
	for (int op = FRAME_OP_USER; op < 256; op++) {
		frame = (struct frame){.op = (uint8_t)op, .length = (uint32_t)op * 5, .arg = 99};
		send_frame_with_fd(fd, &frame, zeros);
	}
	close(fd);
	test_join_peer(&peer);
	close(udp);
}
