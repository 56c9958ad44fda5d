/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/transport.h"

#include "transport/requester_internal.h"
#include "transport/responder_internal.h"

static int create(struct softdev_qp *qp)
{
	qp->task = (struct progress_task){.callback = requester_task, .owner = qp};
	qp->reader = (struct worker_task){.callback = transport_run_on_worker, .owner = qp};
	requester_init(qp);
	return 0;
}

static void disconnect(struct softdev_qp *qp)
{
	requester_close(qp);
	responder_close(qp);
}

const struct qp_transport connected_transport = {
	.create = create,
	.disconnect = disconnect,
	.run = transport_run,
};
