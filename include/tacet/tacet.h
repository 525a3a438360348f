// Secure aggregation and its guarantees: every header of tacet::tacet. Each can also be included
// alone.
#ifndef TACET_TACET_H_
#define TACET_TACET_H_

#include "tacet/aggregator.h"
#include "tacet/agreement.h"
#include "tacet/answer_journal.h"
#include "tacet/attempt_id.h"
#include "tacet/calibrate.h"
#include "tacet/client.h"
#include "tacet/cohort_draw.h"
#include "tacet/committee_seat.h"
#include "tacet/federation_options.h"
#include "tacet/guarantee.h"
#include "tacet/keys.h"
#include "tacet/messages.h"
#include "tacet/privacy_model.h"
#include "tacet/types.h"
#include "tacet/version.h"

#endif  // TACET_TACET_H_
