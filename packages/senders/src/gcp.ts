import { isIngress, type Sender, type SenderKind } from "./kind.ts";
import { serviceAt } from "./recognising.ts";

const annotation = "cloud.google.com/neg";

const neg: Sender = {
  name: "GKE load balancer (NEG)",
  label: "NEG",
  seconds: 60,
  because: "15 to 60 s were seen (ingress-gce #1718, #2222)",
  knownBy: `a Service by its \`${annotation}\`, an Ingress before it, an Ingress of class \`gce...\``,
};

export const gcp = {
  name: "gcp",
  serves: "service",
  consumer: {
    usage: "gcp=PROJECT/ZONE/NEG",
    help: "network endpoint group; needs google-auth-library",
    reads: [
      {
        what: "`listNetworkEndpoints`",
        letGoWhen: "it is not in the network endpoint group",
        basis: "evidence",
      },
    ],
  },
  seen: [neg],
  // `{"ingress": false}` says that there is none.
  ofService: ({ annotations }) =>
    /"ingress"\s*:\s*true|"exposed_ports"/.test(annotations.get(annotation) ?? "") ? neg : undefined,
  ofRoute: (route, services, isOwn) =>
    isOwn || (isIngress(route) && services.includes(neg)) ? neg : undefined,
  mayTarget: ({ annotations }) => annotations.get(annotation) !== undefined,
  programs: [
    {
      who: "Google's load balancers",
      classes: ["networking.gke.io/"],
      names: /^gce/,
      keepsIdle: {
        name: "GKE load balancer",
        seconds: 600,
        because: "Google keeps connections to backends for 600 s, which cannot be changed",
      },
    },
  ],
  recognised: [
    {
      need: "load-balancer/gcp",
      who: "a load balancer of Google with a group of pods",
      reader: "gcp",
      converges: neg,
      source: "kubernetes/ingress-gce: pkg/apis/svcneg/v1beta1/types.go, pkg/neg/types",
      objects: [
        {
          group: "networking.gke.io",
          versions: ["v1beta1", "v1"],
          kind: "ServiceNetworkEndpointGroup",
          plural: "servicenetworkendpointgroups",
          read: ({ metadata: { namespace, labels = {} } }) => {
            const services = serviceAt(namespace, labels["networking.gke.io/service-name"]);
            return { services, by: services.map((service) => `load-balancer/gcp/${service}`) };
          },
        },
      ],
    },
  ],
  presets: {
    neg: {
      summary: "GKE container-native load balancing",
      source: "kubernetes/ingress-gce issues 583 and 769: up to a minute",
      forwarder: { kind: "delay", delay: { uniform: [1_000, 60_000] } },
    },
  },
} as const satisfies SenderKind;
