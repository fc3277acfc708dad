import { haproxyImage, nginxImage, nodeImage, pythonImage, type Manifest } from "../cluster/index.ts";
import type { ClusterRemedy } from "../matrix/remedies.ts";

const configName = "software";
const directory = "/etc/software";

/** Answers with the pod's name, as HAProxy's own documentation has it. */
const haproxy = `defaults
  mode http
  timeout client 75s
  timeout server 30s
  timeout connect 5s
  timeout http-keep-alive 75s
frontend in
  bind :8080
  http-request return status 200 content-type text/plain lf-string "%H" hdr x-lameduck-pod "%H"
`;

/** What the servers are configured with; python serves the directory. */
export const configuration: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: configName },
  data: { "haproxy.cfg": haproxy, "index.html": "python\n", slow: "python\n", readyz: "yes\n" },
};

const mounted = {
  volumes: [{ name: "configuration", configMap: { name: configName } }],
  volumeMounts: [{ name: "configuration", mountPath: directory }],
};

/** Servers as they come: nothing in image or manifest knows of Lameduck. */
export const software: Readonly<Record<string, ClusterRemedy>> = {
  nginx: {
    name: "nginx",
    description: "nginx, whose image stops it with SIGQUIT",
    pod: { image: nginxImage, args: [] },
  },
  haproxy: {
    name: "haproxy",
    description: "HAProxy, master and worker",
    pod: { image: haproxyImage, args: ["-W", "-db", "-f", `${directory}/haproxy.cfg`], ...mounted },
  },
  python: {
    name: "python",
    description: "python -m http.server",
    pod: {
      image: pythonImage,
      args: ["-m", "http.server", "8080", "--protocol", "HTTP/1.1", "--directory", directory],
      ...mounted,
    },
  },
  node: {
    name: "node",
    description: "node:http that closes at SIGTERM",
    pod: { image: nodeImage, environment: { SHUTDOWN: "close" } },
  },
};
