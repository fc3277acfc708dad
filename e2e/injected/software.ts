import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  gunicornImage,
  haproxyImage,
  javaPath,
  jvmImage,
  nginxImage,
  nodeImage,
  pythonImage,
  type Manifest,
} from "../cluster/index.ts";
import type { ClusterRemedy } from "../matrix/remedies.ts";

const configName = "software";
const directory = "/etc/software";

/** Answers with the pod's name, as HAProxy's own documentation has it. */
const haproxy = (keepAlive: string, option = ""): string => `defaults
  mode http
  timeout client 75s
  timeout server 30s
  timeout connect 5s
  timeout http-keep-alive ${keepAlive}
frontend in
  bind :8080
  ${option}
  http-request return status 200 content-type text/plain lf-string "%H" hdr x-lameduck-pod "%H"
`;

/** nginx, set so that each answer after a connection's fifth second says that the connection ends with it. */
const leavingNginx = readFileSync(
  join(import.meta.dirname, "..", "cluster", "images", "samples", "nginx.conf"),
  "utf8",
).replace("keepalive_timeout 75s;", "keepalive_timeout 75s;\n  keepalive_time 5s;");

const gunicorn = `import os, time
pod = os.environ["HOSTNAME"]
answer = (pod + "\\n").encode()
def app(environment, start):
    if environment["PATH_INFO"] == "/slow": time.sleep(0.3)
    start("200 OK", [("Content-Length", str(len(answer))), ("x-lameduck-pod", pod)])
    return [answer]
`;

/** What the servers are configured with; python serves the directory. */
export const configuration: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: configName },
  data: {
    "app.py": gunicorn,
    "haproxy.cfg": haproxy("75s"),
    "haproxy-set.cfg": haproxy("5s", "option idle-close-on-response"),
    "nginx-set.conf": leavingNginx,
    "index.html": "python\n",
    slow: "python\n",
    readyz: "yes\n",
  },
};

const mounted = {
  volumes: [{ name: "configuration", configMap: { name: configName } }],
  volumeMounts: [{ name: "configuration", mountPath: directory }],
};

interface Started {
  /** Where the image does not say it. */
  readonly by: readonly string[];
  /** Its graceful stop. */
  readonly signal: string;
}

const nginx: Started = { by: ["nginx"], signal: "QUIT" };
const jvm: Started = { by: [javaPath], signal: "TERM" };
const gunicornStarted: Started = { by: ["python3", "-m", "gunicorn"], signal: "TERM" };
const haproxyStarted: Started = { by: ["haproxy"], signal: "USR1" };

/** Servers that end at a signal as their users want it. */
export const started: Readonly<Record<string, Started>> = {
  nginx,
  "nginx-set": nginx,
  haproxy: haproxyStarted,
  "haproxy-set": haproxyStarted,
  gunicorn: gunicornStarted,
  "gunicorn-set": gunicornStarted,
  jvm,
  "jvm-set": jvm,
};

const gunicornKeeping = (seconds: number): string[] =>
  `--worker-class gthread --threads 16 --keep-alive ${seconds} --bind 0.0.0.0:8080 --chdir ${directory} app:app`.split(
    " ",
  );
const java = "-Xmx64m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp /opt/java/app Server".split(" ");

/** Servers as they come: nothing in image or manifest knows of Lameduck. */
export const software: Readonly<Record<string, ClusterRemedy>> = {
  nginx: {
    name: "nginx",
    description: "nginx, whose image stops it with SIGQUIT",
    pod: { image: nginxImage, args: [] },
  },
  "nginx-set": {
    name: "nginx-set",
    description: "nginx with keepalive_time 5s",
    pod: { image: nginxImage, args: ["-c", `${directory}/nginx-set.conf`], ...mounted },
  },
  haproxy: {
    name: "haproxy",
    description: "HAProxy, master and worker",
    pod: { image: haproxyImage, args: ["-W", "-db", "-f", `${directory}/haproxy.cfg`], ...mounted },
  },
  "haproxy-set": {
    name: "haproxy-set",
    description: "HAProxy with option idle-close-on-response and timeout http-keep-alive 5s",
    pod: { image: haproxyImage, args: ["-W", "-db", "-f", `${directory}/haproxy-set.cfg`], ...mounted },
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
  gunicorn: {
    name: "gunicorn",
    description: "gunicorn with gthread workers, which keep connections",
    pod: { image: gunicornImage, args: gunicornKeeping(75), ...mounted },
  },
  "gunicorn-set": {
    name: "gunicorn-set",
    description: "gunicorn with --keep-alive 0",
    pod: { image: gunicornImage, args: gunicornKeeping(0), ...mounted },
  },
  jvm: {
    name: "jvm",
    description: "the JDK's own server, which a shutdown hook stops",
    pod: { image: jvmImage, args: java },
  },
  "jvm-set": {
    name: "jvm-set",
    description: "the same; its hook has answers say Connection: close for two seconds before",
    pod: { image: jvmImage, args: [...java, "leave"] },
  },
  node: {
    name: "node",
    description: "node:http that closes at SIGTERM",
    pod: { image: nodeImage, environment: { SHUTDOWN: "close" } },
  },
};
