import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** An answer of a cloud's API. `cut`: the connection ends in the middle of it. */
export interface CloudAnswer {
  readonly status?: number;
  readonly text: string;
  readonly cut?: boolean;
}

export interface CloudApi extends AsyncDisposable {
  readonly url: string;
  /** Who asked what, in order: authorization, path and body. */
  readonly asked: readonly string[];
}

/** A stand-in of a cloud's HTTP API on this machine: it answers what the test says, with what was asked. */
export async function cloudApi(
  answer: (url: URL, body: string) => CloudAnswer,
  type: "text/xml" | "application/json",
): Promise<CloudApi> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      asked.push(`${request.headers.authorization ?? ""} ${request.url} ${body}`);
      const {
        status = 200,
        text: whole,
        cut = false,
      } = answer(new URL(request.url ?? "", "http://api"), body);
      // Google's metadata server says so.
      const headers = {
        "metadata-flavor": "Google",
        "content-type": type,
        "content-length": Buffer.byteLength(whole),
      };
      response.writeHead(status, headers);
      if (cut) response.write(whole.slice(0, whole.length >> 1), () => response.destroy());
      else response.end(whole);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const aws = (action: string, result: string): string =>
  `<${action}Response xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"><${action}Result>${result}</${action}Result></${action}Response>`;

/** Of DescribeTargetHealth: address and state. */
export function targetHealth(targets: Readonly<Record<string, string>>): string {
  const members = Object.entries(targets).map(
    ([id, state]) =>
      `<member><Target><Id>${id}</Id><Port>80</Port></Target><TargetHealth><State>${state}</State></TargetHealth></member>`,
  );
  return aws(
    "DescribeTargetHealth",
    `<TargetHealthDescriptions>${members.join("")}</TargetHealthDescriptions>`,
  );
}

export function targetGroups(arn: string, protocol: string, targetType = "ip"): string {
  const member = `<member><TargetGroupArn>${arn}</TargetGroupArn><Protocol>${protocol}</Protocol><TargetType>${targetType}</TargetType></member>`;
  return aws("DescribeTargetGroups", `<TargetGroups>${member}</TargetGroups>`);
}

export function awsError(code: string, status = 400): CloudAnswer {
  const text = `<ErrorResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${code}</Message></Error></ErrorResponse>`;
  return { status, text };
}

/** A page of listNetworkEndpoints. */
export function endpointPage(addresses: readonly string[], nextPageToken?: string): string {
  return JSON.stringify({
    kind: "compute#networkEndpointGroupsListNetworkEndpoints",
    items: addresses.map((ipAddress) => ({ networkEndpoint: { ipAddress, port: 80 } })),
    nextPageToken,
  });
}
