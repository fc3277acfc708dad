import type { SenderKind, ObjectKind } from "./kind.ts";
import { asProxies, byClass, fieldsAt, hasImage, serviceAt } from "./recognising.ts";

/** With `use-cluster-ip` nginx sends to the Service's own address, and nodes choose the pods. */
const ofNginx = (kind: string, plural: string): ObjectKind => ({
  group: "k8s.nginx.org",
  versions: ["v1"],
  kind,
  plural,
  read: byClass(({ metadata, spec }) => ({
    services: fieldsAt(spec, "upstreams")
      .filter((one) => one["use-cluster-ip"] !== true)
      .flatMap(({ service, backup }) =>
        [service, backup].flatMap((name) => serviceAt(metadata.namespace, name)),
      ),
  })),
});

export const nginx = {
  name: "nginx",
  serves: "class",
  consumer: {
    usage: "nginx=FILE[,PIDFILE]",
    help: "nginx.conf, and the file with its process id (/run/nginx.pid)",
    reads: [
      {
        what: "the configuration with what it includes, the master and its workers",
        letGoWhen: "no file names it, and none that the accepting workers have read did",
      },
    ],
  },
  programs: [
    {
      who: "the ingress controller of NGINX",
      classes: ["nginx.org/ingress-controller"],
      isProxy: (pod) => hasImage(pod, /nginx\/nginx-ingress(?:[:@]|$)/),
      consumer: "nginx=/etc/nginx/nginx.conf",
      needs: "both containers mount a volume at /etc/nginx",
      isUntried: true,
      sharesProcesses: true,
    },
    {
      who: "NGINX Gateway Fabric",
      classes: ["gateway.nginx.org/"],
      isProxy: (pod) => hasImage(pod, /nginx-gateway-fabric\/nginx(?:-plus)?(?:[:@]|$)/),
      consumer: "nginx=/lameduck/nginx.conf,/var/run/nginx/nginx.pid",
      needs: "give its patch to an `NginxProxy`: docs/operate/watchers.md",
      isUntried: true,
      sharesProcesses: true,
    },
  ],
  recognised: [
    {
      need: "proxy/nginx",
      who: "the ingress controller of NGINX",
      reader: "nginx=/etc/nginx/nginx.conf",
      converges: asProxies,
      source: "nginx/kubernetes-ingress: pkg/apis/configuration/v1/types.go",
      objects: [
        ofNginx("VirtualServer", "virtualservers"),
        ofNginx("VirtualServerRoute", "virtualserverroutes"),
        ofNginx("TransportServer", "transportservers"),
      ],
    },
  ],
} as const satisfies SenderKind;
