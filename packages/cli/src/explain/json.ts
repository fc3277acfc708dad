import { courseText, type Suspect } from "@lameduck/drain";
import { reservations, type Explained } from "./explained.ts";

/** At each moment, only those senders from whom most is expected are written: there may be a thousand. */
const mostSenders = 20;

/** Times are milliseconds since the termination. */
export function explanationJson(explained: Explained): unknown {
  const { trace, replayed } = explained;
  const { by, pid, on, clock, config } = trace.header;
  const { course, length, moments, stop, reason } = replayed;
  return {
    recorded: { by, pid, on, epoch: clock.epoch, config },
    hold: length,
    reason: trace.end?.reason ?? null,
    explanation: courseText(course),
    met: Object.fromEntries(course.met.map(({ condition, at }) => [condition, at])),
    unmet: course.unmet,
    waitedFor: course.sender ? suspectJson(course.sender) : null,
    replayed: { stop: stop ?? null, reason: reason ?? null },
    reservations: reservations(explained),
    moments: moments.map(({ at, expectedLoss, suspects }) => ({
      at,
      expectedLoss,
      senders: suspects.slice(0, mostSenders).map(suspectJson),
    })),
  };
}

function suspectJson({ sender, ...rest }: Suspect): unknown {
  return { sender: sender ?? null, ...rest };
}
