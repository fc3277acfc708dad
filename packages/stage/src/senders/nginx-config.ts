import type { Endpoint } from "@lameduck/accounting";

export interface NginxSettings {
  readonly address: string;
  readonly port: number;
  readonly directory: string;
  readonly source: string | undefined;
  /** Milliseconds. */
  readonly timeout: number;
  readonly connectTimeout: number;
  readonly retries: number | undefined;
  /** Root of a user namespace cannot become anybody else; root of the machine need not. */
  readonly asRoot: boolean;
}

/**
 * What an ingress controller would write, as small as it can be. Callers' connections stay open, so that no race but the pods' own and
 * those of a reload is seen.
 */
export function nginxConfig(settings: NginxSettings, endpoints: readonly Endpoint[]): string {
  const { directory } = settings;
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `daemon off;
${settings.asRoot ? "user root root;\n" : ""}worker_processes 1;
pid ${directory}/pid;
error_log stderr notice;
events { worker_connections 8000; }
http {
  log_format lost '$http_x_lameduck_id $upstream_addr|$upstream_status|$upstream_connect_time|$upstream_header_time';
  map $status $lost { ~^5 1; default 0; }
  access_log ${directory}/lost.log lost if=$lost;
${temporary.map((kind) => `  ${kind}_temp_path ${directory}/${kind};`).join("\n")}
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
${endpoints.length === 0 ? "" : upstream(endpoints)}  server {
    listen ${settings.address}:${settings.port} backlog=4096;
    location / {
${endpoints.length === 0 ? "      return 503;\n" : location(settings)}    }
  }
}
`;
}

function upstream(endpoints: readonly Endpoint[]): string {
  const servers = endpoints.map(({ address, port }) => `    server ${authority(address, port)};\n`);
  return `  upstream pods {\n${servers.join("")}    keepalive 256;\n  }\n`;
}

/** As nginx writes it, in its configuration and in its logs. */
export function authority(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function location(settings: NginxSettings): string {
  const { retries, source } = settings;
  return `      proxy_pass http://pods;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_connect_timeout ${Math.ceil(settings.connectTimeout)}ms;
      proxy_read_timeout ${Math.ceil(settings.timeout)}ms;
${retries === undefined ? "" : tries(retries)}${source === undefined ? "" : `      proxy_bind ${source};\n`}      add_header x-lameduck-upstream $upstream_addr always;
`;
}

function tries(retries: number): string {
  return retries === 0
    ? "      proxy_next_upstream off;\n"
    : `      proxy_next_upstream_tries ${retries + 1};\n`;
}
