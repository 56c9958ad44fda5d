/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enhanced connection establishment: carries the values of both vendors, for queue pairs that the application created
 * itself.
 */
#include <errno.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"

int softverbs_rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || id->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return cm_result(-EINVAL);
	to_cm_id(id)->local.ece_vendor = ece->vendor_id;
	to_cm_id(id)->local.ece_options = ece->options;
	return 0;
}

int softverbs_rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || id->qp || !ece)
		return cm_result(-EINVAL);
	*ece = (struct ibv_ece){.vendor_id = to_cm_id(id)->remote.ece_vendor,
				.options = to_cm_id(id)->remote.ece_options};
	return 0;
}
