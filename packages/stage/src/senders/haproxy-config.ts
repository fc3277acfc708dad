export interface HaproxySettings {
  readonly address: string;
  readonly port: number;
  readonly socket: string;
  /** Source address of connections to pods. */
  readonly source: string | undefined;
  /** Milliseconds. */
  readonly timeout: number;
  readonly connectTimeout: number;
  readonly retries: number;
}

/**
 * What an ingress controller would write, as small as it can be: one frontend, one backend whose servers come and go through the runtime
 * API. Callers' connections stay open (their time-outs are far beyond any run), so that no race but the pods' own is seen. Its log
 * has every request without a good answer; "dontlog-normal" would leave out those that it drops without an answer.
 */
export function haproxyConfig(settings: HaproxySettings): string {
  return `global
  log stdout format raw local0
  stats socket ${settings.socket} mode 600 level admin
  nbthread 1
  no strict-limits
  maxconn 8000
defaults
  mode http
  log global
  timeout connect ${Math.round(settings.connectTimeout)}ms
  timeout server ${Math.round(settings.timeout)}ms
  timeout client 1h
  timeout http-keep-alive 1h
  timeout queue ${Math.round(settings.connectTimeout)}ms
  retries ${settings.retries}
${settings.retries > 0 ? "  option redispatch\n" : ""}frontend callers
  bind ${settings.address}:${settings.port}
  http-request capture req.hdr(x-lameduck-id) len 20
  log-format "lameduck %[capture.req.hdr(0)] %s %ts %rc"
  default_backend pods
backend pods
  balance roundrobin
${settings.source === undefined ? "" : `  source ${settings.source}\n`}  http-after-response set-header x-lameduck-upstream %s if { srv_id -m found }
  http-response set-log-level silent if { status lt 500 }
  http-after-response set-header x-lameduck-retries %rc
`;
}
