import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { GoogleAuth, OAuth2Client } from "google-auth-library";
import { awsTargetGroup } from "../src/consumers/aws.ts";
import { gcpEndpointGroup } from "../src/consumers/gcp.ts";

const { signal } = new AbortController();
const asked = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"];

/** A stand-in of a cloud's HTTP API on this machine: it answers what the test says, with what was asked. */
async function standIn(
  answer: (
    url: string,
    body: string,
  ) => { readonly status?: number; readonly type: string; readonly text: string },
): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { status = 200, type, text } = answer(request.url ?? "", body);
      response.writeHead(status, { "content-type": type }).end(text);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("a target group of AWS, by the real SDK and a stand-in of the API", () => {
  const arn = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/shop/0123456789abcdef";
  const described = (targets: Readonly<Record<string, string>>): string =>
    `<DescribeTargetHealthResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"><DescribeTargetHealthResult><TargetHealthDescriptions>${Object.entries(
      targets,
    )
      .map(
        ([id, state]) =>
          `<member><Target><Id>${id}</Id><Port>80</Port></Target><TargetHealth><State>${state}</State></TargetHealth></member>`,
      )
      .join("")}</TargetHealthDescriptions></DescribeTargetHealthResult></DescribeTargetHealthResponse>`;

  process.env["AWS_ACCESS_KEY_ID"] = "test";
  process.env["AWS_SECRET_ACCESS_KEY"] = "test";

  it("a target group of AWS lets go of targets that drain or are gone", async () => {
    let targets: Readonly<Record<string, string>> = {
      "10.0.0.1": "healthy",
      "10.0.0.2": "draining",
      "10.0.0.3": "unhealthy",
    };
    await using api = await standIn((_, body) => {
      assert.match(body, /Action=DescribeTargetHealth.*TargetGroupArn=arn/);
      return { type: "text/xml", text: described(targets) };
    });
    const consumer = awsTargetGroup(arn, `http://127.0.0.1:${api.port}`);
    assert.deepEqual([...(await consumer.stillUsed(asked, signal))], ["10.0.0.1", "10.0.0.3"]);
    targets = { "i-0123456789abcdef0": "healthy" };
    await assert.rejects(consumer.stillUsed(asked, signal), /is no address/);
  });

  it("a target group of AWS throws where it is refused, or answered with something else", async () => {
    for (const answer of [
      {
        status: 403,
        type: "text/xml",
        text: "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>",
      },
      { status: 200, type: "text/html", text: "<html></html>" },
      { status: 200, type: "text/xml", text: "<DescribeTargetHealthResponse>" },
    ]) {
      await using api = await standIn(() => answer);
      await assert.rejects(awsTargetGroup(arn, `http://127.0.0.1:${api.port}`).stillUsed(asked, signal));
    }
  });
});

describe("an endpoint group of Google Cloud, by the real client and a stand-in of the API", () => {
  const group = { project: "shop", zone: "europe-west1-b", group: "web" };

  const consumerAt = (port: number) => {
    const authClient = new OAuth2Client();
    authClient.setCredentials({ access_token: "test", expiry_date: Date.now() + 3_600_000 });
    return gcpEndpointGroup(group, {
      apiEndpoint: "127.0.0.1",
      port,
      protocol: "http",
      auth: new GoogleAuth({ authClient }),
    });
  };

  it("an endpoint group of Google Cloud lets go of endpoints that are on no page of the list", async () => {
    const page = (ips: readonly string[], nextPageToken?: string): string =>
      JSON.stringify({
        items: ips.map((ipAddress) => ({ networkEndpoint: { ipAddress, port: 80 } })),
        nextPageToken,
      });
    await using api = await standIn((url) => {
      assert.match(
        url,
        /projects\/shop\/zones\/europe-west1-b\/networkEndpointGroups\/web\/listNetworkEndpoints/,
      );
      const isSecond = url.includes("pageToken=second");
      return { type: "application/json", text: isSecond ? page(["10.0.0.3"]) : page(["10.0.0.1"], "second") };
    });
    assert.deepEqual([...(await consumerAt(api.port).stillUsed(asked, signal))], ["10.0.0.1", "10.0.0.3"]);
  });

  it("an endpoint group of Google Cloud throws where it is refused", async () => {
    await using api = await standIn(() => ({
      status: 403,
      type: "application/json",
      text: '{"error":{"code":403,"message":"no"}}',
    }));
    await assert.rejects(consumerAt(api.port).stillUsed(asked, signal));
  });
});
