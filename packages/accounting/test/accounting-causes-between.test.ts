import assert from "node:assert/strict";
import { test } from "node:test";
import { account, type LostRequest, type RequestRecord } from "../src/index.ts";
import { meta, pooled } from "./accounting-causes.ts";
import {
  ordinary,
  podEvents,
  podLife,
  recording,
  refused,
  request,
  traffic,
} from "./accounting-recording.ts";

/** Deleted at 10 s; it accepts until 17 s, and ends then. */
const servesOn = { ...ordinary, closed: 17_000, exited: 17_000, gone: 17_500 };

const { closed: _, ...unwatched } = servesOn;

const noConnection = (at: number, rest: Partial<RequestRecord> = {}): RequestRecord =>
  refused(at, { outcome: "unreachable", error: "ETIMEDOUT", finished: at + 1_000, ...rest });
const unanswered = (at: number, rest: Partial<RequestRecord> = {}): RequestRecord =>
  request(at, { ...pooled, outcome: "timeout", received: 0, finished: at + 5_000, ...rest });

interface Way {
  readonly what: string;
  readonly lost: readonly RequestRecord[];
  readonly answered?: readonly RequestRecord[];
  readonly life?: ReturnType<typeof podLife>;
  readonly cause: string;
  readonly sentence?: RegExp;
}

const closing = (detail: Record<string, unknown>): ReturnType<typeof podEvents> =>
  podEvents("web-1", [[17_000, { type: "phase", phase: "closing", reason: "quiet", detail }]]);

const ways: readonly Way[] = [
  {
    what: "no connection is made, and none answers, of a pod that runs on",
    lost: [noConnection(11_000), unanswered(10_300)],
    answered: traffic(9_900, 10_300),
    cause: "C13",
    sentence:
      /; nothing came from web-1 from 202 ms after its deletion, for 6\.8 s, in which it ran on: its network was cut$/,
  },
  {
    what: "the network is cut at the deletion, and the pod ends before its callers give up",
    lost: [noConnection(10_100, { finished: 20_000 }), unanswered(9_990, { finished: 20_000 })],
    cause: "C13",
  },
  {
    what: "the network is cut until SIGKILL",
    lost: [noConnection(11_000), unanswered(10_000, { finished: 18_000 })],
    life: podLife("web-1", { ...servesOn, killed: 17_000 }),
    cause: "C13",
  },
  {
    what: "pooled requests alone are not answered, and the pod says that nobody acknowledges",
    lost: [unanswered(10_100)],
    life: [...podLife("web-1", servesOn), ...closing({ network: "cut" })],
    cause: "C13",
    sentence: /as it says itself$/,
  },
  {
    what: "pooled requests alone are not answered, and nobody knows why",
    lost: [unanswered(10_100)],
    cause: "C8",
  },
  {
    what: "a program stands still, and its kernel makes connections until the queue is full",
    lost: [
      ...[10_100, 11_000, 12_000].map((at) =>
        request(at, { outcome: "timeout", received: 0, finished: at + 3_000 }),
      ),
      noConnection(12_500),
    ],
    cause: "C8",
  },
  {
    what: "no connection is made, of a pod that answers on older ones",
    lost: [noConnection(11_000), noConnection(12_000)],
    answered: traffic(10_000, 16_000, pooled),
    cause: "C14",
    sentence:
      /web-1 still accepted, and answered on older connections for [\d.]+ s after that: new ones are turned away/,
  },
  {
    what: "new connections are refused, of a pod that is seen to close later",
    lost: [refused(11_000), refused(12_000)],
    answered: traffic(10_000, 16_000, pooled),
    cause: "C14",
  },
  {
    what: "new connections are refused, of a pod whose listener nobody watches",
    lost: [refused(11_000), refused(12_000)],
    answered: traffic(10_000, 16_000, pooled),
    life: podLife("web-1", unwatched),
    cause: "C1",
  },
  {
    what: "no connection is made now and then, of a pod that takes others",
    lost: [noConnection(11_000)],
    answered: traffic(10_000, 16_000),
    cause: "C8",
  },
];

function lostOf({ lost, answered = [], life = podLife("web-1", servesOn) }: Way): readonly LostRequest[] {
  const records = [...traffic(2_000, 9_900), ...answered, ...lost];
  return account(recording({ records, podEvents: life, ended: 30_000 }), meta).lostRequests;
}

for (const way of ways)
  test(`the cause is ${way.cause} where ${way.what}`, () => {
    const lost = lostOf(way);
    assert.equal(lost.length, way.lost.length);
    assert.deepEqual(
      lost.filter(({ cause }) => cause !== way.cause).map(({ cause, sentence }) => `${cause}: ${sentence}`),
      [],
    );
    if (way.sentence) for (const { sentence } of lost.slice(-1)) assert.match(sentence, way.sentence);
  });

test("a pod that is out of reach is found by the time where nobody knows to which one a connection went", () => {
  const { pod: __, podKnownBy: ___, ...unknown } = noConnection(11_000);
  const cut = lostOf({ what: "", cause: "", lost: [unknown] });
  assert.deepEqual(
    cut.map(({ cause, pod, podKnownBy }) => [cause, pod, podKnownBy]),
    [["C13", "web-1", "time"]],
  );
  const [away] = lostOf({ what: "", cause: "", lost: [unknown], answered: traffic(10_000, 16_000, pooled) });
  assert.equal(away?.cause, "C14");
  const [other] = lostOf({ what: "", cause: "", lost: [unknown], answered: traffic(10_000, 16_000) });
  assert.deepEqual([other?.cause, other?.pod], ["unknown", undefined]);
});
