import { timelineText, type PendingSender } from "@lameduck/drain";
import { reservations, type Explained } from "./explained.ts";

/** At each moment only the senders with the greatest expected loss are written: there may be a thousand. */
const mostSenders = 20;

/** Times are milliseconds since the termination. */
export function explanationJson(explained: Explained): unknown {
  const { trace, replayed } = explained;
  const { by, pid, on, clock, config } = trace.header;
  const { timeline, length, moments, stop, reason } = replayed;
  return {
    recorded: { by, pid, on, epoch: clock.epoch, config },
    hold: length,
    reason: trace.end?.reason ?? null,
    explanation: timelineText(timeline),
    met: Object.fromEntries(timeline.met.map(({ condition, at }) => [condition, at])),
    unmet: timeline.unmet,
    waitedFor: timeline.sender ? senderJson(timeline.sender) : null,
    replayed: { stop: stop ?? null, reason: reason ?? null },
    reservations: reservations(explained),
    moments: moments.map(({ at, expectedLoss, pendingSenders }) => ({
      at,
      expectedLoss,
      senders: pendingSenders.slice(0, mostSenders).map(senderJson),
    })),
  };
}

function senderJson({ sender, ...rest }: PendingSender): unknown {
  return { sender: sender ?? null, ...rest };
}
