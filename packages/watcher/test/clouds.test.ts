import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { kinds, sendersOfService, annotationsOf } from "@lameduck/senders";
import { AwsApi, awsTargetGroup } from "../src/clouds/aws.ts";
import { CallBudget } from "../src/clouds/call-budget.ts";
import { GcpApi } from "../src/clouds/gcp.ts";
import {
  awsError,
  cloudApi,
  endpointPage,
  targetGroups,
  targetHealth,
  type CloudAnswer,
  type CloudApi,
} from "./cloud-apis.ts";

const { signal } = new AbortController();
const asked = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"];
const arn = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/shop/0123456789abcdef";
process.env["AWS_ACCESS_KEY_ID"] = "test";
process.env["AWS_SECRET_ACCESS_KEY"] = "test";

/** More calls than a test makes. */
const plenty = (): CallBudget => new CallBudget(10_000, 10_000);
/** A clock that the test moves, and what reads by it. */
const clock = (): { now: number; readonly read: () => number } => {
  const own = { now: 0, read: (): number => own.now };
  return own;
};

describe("a target group of AWS, by the real SDK and a stand-in of the API", () => {
  const apiOf = (protocol: string, health: () => CloudAnswer, group?: () => CloudAnswer) =>
    cloudApi((_, body) => {
      assert.match(body, /TargetGroup(?:Arn|Arns\.member\.1)=arn/);
      if (body.includes("Action=DescribeTargetHealth")) return health();
      return group?.() ?? { text: targetGroups(arn, protocol) };
    }, "text/xml");

  it("an ALB lets go of targets that drain or are gone", async () => {
    const targets = { "10.0.0.1": "healthy", "10.0.0.2": "draining", "10.0.0.3": "unhealthy" };
    await using api = await apiOf("HTTPS", () => ({ text: targetHealth(targets) }));
    const consumer = awsTargetGroup(arn, { endpoint: api.url, calls: plenty() });
    assert.deepEqual([...(await consumer.stillUsed(asked, signal))], ["10.0.0.1", "10.0.0.3"]);
    assert.equal(consumer.basis, "state");
  });

  it("an NLB lets go of them by time, as long as the audit says, and says so", async () => {
    const at = clock();
    let targets: Readonly<Record<string, string>> = { "10.0.0.1": "healthy", "10.0.0.2": "draining" };
    await using api = await apiOf("TCP", () => ({ text: targetHealth(targets) }));
    const consumer = awsTargetGroup(arn, { endpoint: api.url, calls: plenty(), now: at.read });
    const left = async (seconds: number): Promise<string> => {
      at.now = seconds * 1_000;
      return [...(await consumer.stillUsed(["10.0.0.1", "10.0.0.2"], signal))].join(" ");
    };
    const seen = sendersOfService({
      type: "LoadBalancer",
      clusterIP: undefined,
      externalTrafficPolicy: undefined,
      annotations: annotationsOf({ "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip" }),
    });
    const { seconds = NaN } = seen.find(({ label }) => label === "NLB") ?? {};
    assert.equal(await left(0), "10.0.0.1 10.0.0.2");
    assert.equal(await left(seconds - 1), "10.0.0.1 10.0.0.2");
    assert.equal(await left(seconds + 2), "10.0.0.1");
    assert.equal(consumer.basis, "time");
    targets = {};
    assert.equal(await left(seconds + 10), "10.0.0.1", "gone without draining: the same time");
    assert.match(consumer.reason?.() ?? "", /NLB may send for 120 s more/);
    assert.equal(await left(2 * seconds + 11), "");
    const { reads = [] } = kinds.find(({ name }) => name === "aws")?.consumer ?? {};
    assert.ok(reads.some(({ basis, letGoWhen }) => basis === "evidence" && letGoWhen.includes("#2366")));
  });

  it("a group whose target drained before it was asked for is read at once, and one that never had it rarely", async () => {
    const at = clock();
    let targets: Readonly<Record<string, string>> = { "10.0.0.1": "healthy" };
    await using api = await apiOf("HTTP", () => ({ text: targetHealth(targets) }));
    const calls = plenty();
    calls.groups = 200;
    const consumer = awsTargetGroup(arn, { endpoint: api.url, calls, now: at.read });
    const left = async (seconds: number, address: string): Promise<number> => {
      at.now = seconds * 1_000;
      return (await consumer.stillUsed([address], signal)).size;
    };
    await left(0, "10.0.0.1");
    targets = { "10.0.0.1": "draining" };
    await left(120, "10.0.0.9");
    assert.equal(await left(123, "10.0.0.1"), 0);
    assert.equal(await left(200, "10.0.0.9"), 1, "not asked yet");
    assert.equal(await left(244, "10.0.0.9"), 0);
  });

  it("targets that are no addresses, and balancers that are not known, are not understood", async () => {
    const cases: readonly (readonly [CloudAnswer, RegExp])[] = [
      [{ text: targetGroups(arn, "TCP", "instance") }, /nodes choose the pods/],
      [{ text: targetGroups(arn, "HTTP", "alb") }, /no addresses/],
      [{ text: targetGroups(arn, "GENEVE") }, /GENEVE is not known/],
      [{ text: targetGroups(`${arn}0`, "HTTP") }, /another target group/],
      [{ text: targetGroups(arn, "HTTP").replace(/<TargetGroups>.*<\/TargetGroups>/, "") }, /not described/],
      [awsError("TargetGroupNotFound"), /TargetGroupNotFound/],
    ];
    for (const [group, problem] of cases) {
      await using api = await apiOf(
        "",
        () => ({ text: targetHealth({}) }),
        () => group,
      );
      const consumer = awsTargetGroup(arn, { endpoint: api.url, calls: plenty() });
      await assert.rejects(consumer.stillUsed(asked, signal), problem);
    }
    await using api = await apiOf("HTTP", () => ({
      text: targetHealth({ "i-0123456789abcdef0": "healthy" }),
    }));
    const consumer = awsTargetGroup(arn, { endpoint: api.url, calls: plenty() });
    await assert.rejects(consumer.stillUsed(asked, signal), /is no address/);
  });

  /** What an API answers that does not answer the question. */
  const unreadable: readonly CloudAnswer[] = [
    awsError("AccessDenied", 403),
    awsError("ExpiredToken", 403),
    awsError("Throttling"),
    awsError("ServiceUnavailable", 503),
    { text: "<html></html>" },
    { text: "<DescribeTargetHealthResponse>" },
    { text: "" },
    { text: targetHealth({}).replace(/<TargetHealthDescriptions>.*Descriptions>/, "") },
    { text: targetHealth({ "10.0.0.1": "healthy", "10.0.0.2": "healthy" }), cut: true },
    { text: targetHealth({ "10.0.0.9": "healthy" }).replace(/<TargetHealth>.*<\/TargetHealth>/, "") },
    { text: targetHealth({ "10.0.0.9": "healthy" }).replace(/<State>.*<\/State>/, "") },
    { text: targetHealth({ "10.0.0.9": "healthy" }).replace(/<Id>.*<\/Id>/, "") },
  ];

  it("what cannot be read never counts as let go, whatever is answered before and after", async () => {
    const states = ["healthy", "unhealthy", "initial", "draining", "unused", undefined] as const;
    const answer = fc.oneof(
      {
        weight: 2,
        arbitrary: fc.record({ targets: fc.tuple(...asked.map(() => fc.constantFrom(...states))) }),
      },
      { weight: 1, arbitrary: fc.record({ broken: fc.constantFrom(...unreadable) }) },
    );
    const step = fc.tuple(answer, fc.integer({ min: 2_000, max: 70_000 }));
    let said: CloudAnswer = { text: "" };
    let protocol = "";
    await using api = await apiOf(
      "",
      () => said,
      () => ({ text: targetGroups(arn, protocol) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("HTTP", "TCP"),
        fc.array(step, { maxLength: 8 }),
        async (kind, steps) => {
          protocol = kind;
          const at = clock();
          const consumer = awsTargetGroup(arn, {
            endpoint: api.url,
            calls: new CallBudget(1e6, 1e6),
            now: at.read,
          });
          /** Since when each was said to be unused, without a word to the contrary. */
          const unusedSince = new Map<string, number>();
          for (const [what, pauseMs] of steps) {
            at.now += pauseMs;
            if ("broken" in what) {
              said = what.broken;
              await consumer.stillUsed(asked, signal).then(
                (used) => assert.deepEqual([...used], asked),
                () => undefined,
              );
              continue;
            }
            const named = asked.flatMap((address, index) => {
              const state = what.targets[index];
              return state === undefined ? [] : [[address, state] as const];
            });
            said = { text: targetHealth(Object.fromEntries(named)) };
            const before = api.asked.length;
            const used = await consumer.stillUsed(asked, signal).catch(() => new Set(asked));
            if (api.asked.length > before)
              for (const address of asked) {
                const isUsed = named.some(([one, state]) => one === address && state !== "draining");
                if (isUsed) unusedSince.delete(address);
                else if (!unusedSince.has(address)) unusedSince.set(address, at.now);
              }
            for (const address of asked) {
              const least = kind === "TCP" ? 120_000 : 0;
              const mayLetGo = at.now - (unusedSince.get(address) ?? Infinity) >= least;
              assert.ok(mayLetGo || used.has(address), `${address} after ${at.now} ms`);
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it("credentials come by IRSA and by Pod Identity, and are renewed when they expire", async () => {
    const past = new Date(Date.now() - 1_000).toISOString();
    let given = 0;
    const key = (): string => `given-${++given}`;
    await using sts = await cloudApi(
      () => ({
        text: `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${key()}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>${past}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      }),
      "text/xml",
    );
    await using agent = await cloudApi(
      () => ({
        text: JSON.stringify({ AccessKeyId: key(), SecretAccessKey: "s", Token: "t", Expiration: past }),
      }),
      "application/json",
    );
    await using api = await apiOf("HTTP", () => ({ text: targetHealth({}) }));
    const directory = mkdtempSync(join(tmpdir(), "lameduck-clouds-"));
    const token = join(directory, "token");
    writeFileSync(token, "web-identity");
    const before = { ...process.env };
    try {
      const ways: readonly (readonly [CloudApi, Readonly<Record<string, string>>])[] = [
        [
          sts,
          {
            AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/lameduck",
            AWS_WEB_IDENTITY_TOKEN_FILE: token,
            AWS_ENDPOINT_URL_STS: sts.url,
            AWS_REGION: "eu-west-1",
          },
        ],
        [
          agent,
          {
            AWS_CONTAINER_CREDENTIALS_FULL_URI: `${agent.url}/v1/credentials`,
            AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: token,
          },
        ],
      ];
      for (const [giver, environment] of ways) {
        process.env = { ...before, ...environment };
        delete process.env["AWS_ACCESS_KEY_ID"];
        delete process.env["AWS_SECRET_ACCESS_KEY"];
        const consumer = awsTargetGroup(arn, { endpoint: api.url, calls: plenty() });
        await consumer.stillUsed(asked, signal);
        // What has expired is renewed for the next call.
        assert.ok(giver.asked.length >= 2, `${giver.asked.length} times`);
        assert.ok(giver.asked.every((one) => one.includes("web-identity")));
        assert.match(api.asked.at(-1) ?? "", /Credential=given-\d+\//);
      }
    } finally {
      process.env = before;
      rmSync(directory, { recursive: true });
    }
  });

  it("after a call that was throttled all groups wait, and longer each time", async () => {
    const answers: CloudAnswer[] = [awsError("Throttling"), awsError("Throttling")];
    await using api = await apiOf("HTTP", () => answers.shift() ?? { text: targetHealth({}) });
    const calls = plenty();
    const all = new AwsApi("eu-west-1", { endpoint: api.url, calls });
    const [one, other] = [all.targetGroup(arn), all.targetGroup(arn)];
    await assert.rejects(one.stillUsed(asked, signal), /Throttling/);
    const before = performance.now();
    await assert.rejects(other.stillUsed(asked, signal), /Throttling/);
    const [first, again] = [performance.now() - before, performance.now()];
    await assert.rejects(one.stillUsed(asked, signal), /Throttling/, "it is not asked at once again");
    assert.ok(performance.now() - again < first, "and says so without a call");
    assert.ok(first >= 499, `after ${first} ms`);
  });
});

describe("the calls of all groups of a process", () => {
  it("urgent calls go first, and no more calls are made than the bucket has", async () => {
    const calls = new CallBudget(50, 1);
    await calls.take(false, signal);
    const order: string[] = [];
    const began = performance.now();
    await Promise.all(
      ["a", "b", "C", "D"].map(async (name) => {
        await calls.take(name < "a", signal);
        order.push(name);
      }),
    );
    assert.equal(order.join(""), "CDab");
    assert.ok(performance.now() - began >= 75, "four tokens of 20 ms");
    assert.equal(calls.calls, 5);
  });

  it("who does not wait any more takes no token", async () => {
    const calls = new CallBudget(20, 1);
    await calls.take(false, signal);
    const stopping = new AbortController();
    const gone = calls.take(true, stopping.signal);
    stopping.abort();
    await assert.rejects(gone);
    await calls.take(false, signal);
    await delay(1);
    assert.equal(calls.calls, 2);
  });
});

describe("an endpoint group of Google Cloud, by a stand-in of the API", () => {
  const name = { project: "shop", zone: "europe-west1-b", group: "web" };
  const groupAt = (endpoint: string) =>
    new GcpApi({
      endpoint,
      calls: plenty(),
      authorization: () => Promise.resolve("Bearer test"),
    }).endpointGroup(name);

  it("it lets go of endpoints that are on no page of the list", async () => {
    await using api = await cloudApi((url) => {
      assert.equal(
        url.pathname,
        "/compute/v1/projects/shop/zones/europe-west1-b/networkEndpointGroups/web/listNetworkEndpoints",
      );
      const isSecond = url.searchParams.get("pageToken") === "sec/ond";
      return { text: isSecond ? endpointPage(["10.0.0.3"]) : endpointPage(["10.0.0.1"], "sec/ond") };
    }, "application/json");
    assert.deepEqual([...(await groupAt(api.url).stillUsed(asked, signal))], ["10.0.0.1", "10.0.0.3"]);
  });

  it("an endpoint of two families has two addresses", async () => {
    const text = endpointPage(["10.0.0.1"]).replace('"port":80', '"port":80,"ipv6Address":"fd00::1"');
    await using api = await cloudApi(() => ({ text }), "application/json");
    assert.deepEqual([...(await groupAt(api.url).stillUsed(["fd00::1", "10.0.0.1"], signal))].length, 2);
  });

  it("what cannot be read never counts as let go", async () => {
    const error = (code: number, reason: string): CloudAnswer => ({
      status: code,
      text: JSON.stringify({ error: { code, errors: [{ reason }], message: reason } }),
    });
    for (const answer of [
      error(401, "authError"),
      error(403, "rateLimitExceeded"),
      error(404, "notFound"),
      error(429, "rateLimitExceeded"),
      { text: "{}" },
      { text: "[]" },
      { text: "" },
      { text: endpointPage([...asked]), cut: true },
      { text: endpointPage(["10.0.0.1"]).replace('"ipAddress"', '"name"') },
      { text: endpointPage(["one"]) },
      { text: endpointPage([]).replace('"items":[]', '"items":{}') },
      { text: endpointPage([]).replace("}", ',"nextPageToken":7}') },
      // The second page never comes, and the same one for ever.
      { text: endpointPage([], "again") },
    ]) {
      await using api = await cloudApi(() => answer, "application/json");
      await assert.rejects(groupAt(api.url).stillUsed(asked, signal), JSON.stringify(answer));
    }
  });

  it("who gives tokens and never answers is waited for no longer than the poll", async (t) => {
    const silent = new GcpApi({ authorization: () => new Promise(() => undefined), calls: plenty() });
    const stopping = new AbortController();
    const asking = silent.endpointGroup(name).stillUsed(asked, stopping.signal);
    stopping.abort();
    await assert.rejects(asking, /the credentials/);
    t.mock.method(AbortSignal, "timeout", () => AbortSignal.abort());
    await assert.rejects(silent.endpointGroup(name).stillUsed(asked, signal), /the credentials/);
  });

  it("a later page that fails makes the whole list unreadable", async () => {
    await using api = await cloudApi(
      (url) =>
        url.search === "" ? { text: endpointPage(["10.0.0.1"], "2") } : { status: 503, text: "later" },
      "application/json",
    );
    await assert.rejects(groupAt(api.url).stillUsed(asked, signal), /status 503/);
  });

  it("the token comes from the metadata server, by Google's own library", async () => {
    await using metadata = await cloudApi(
      () => ({
        text: JSON.stringify({ access_token: "from-metadata", expires_in: 3_600, token_type: "Bearer" }),
      }),
      "application/json",
    );
    await using api = await cloudApi(() => ({ text: endpointPage([]) }), "application/json");
    process.env["GCE_METADATA_HOST"] = new URL(metadata.url).host;
    process.env["METADATA_SERVER_DETECTION"] = "assume-present";
    const consumer = new GcpApi({ endpoint: api.url, calls: plenty() }).endpointGroup(name);
    await consumer.stillUsed(asked, signal);
    assert.match(api.asked.join(), /^Bearer from-metadata /);
    assert.ok(metadata.asked.some((one) => one.includes("/service-accounts/default/token")));
  });
});
