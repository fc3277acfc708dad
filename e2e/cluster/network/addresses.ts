/**
 * The address plan: all of it inside 198.18.0.0/15, which RFC 2544 sets aside for tests, in namespaces without a route out.
 * Nodes are numbered from 1; nine of them at most, so that 198.18.0.1N stays readable.
 */
export const maximumNodes = 9;

export const fabricAddress = "198.18.0.1";
export const apiPort = 6443;
export const serviceRange = "198.19.0.0/16";
/** The first address of the service range is the API server's own Service. */
export const apiServiceAddress = "198.19.0.1";
export const dnsServiceAddress = "198.19.0.10";
export const clusterDomain = "cluster.local";
export const podRange = "198.18.128.0/17";

/** Outside the cluster: a balancer's own address, the machine that it stands on, and 8,192 addresses of clients. */
export const balancerAddress = "198.18.24.1";
export const edgeAddress = "198.18.0.100";
export const clientRange = "198.18.32.0/19";

export const nodeName = (number: number): string => `node${number}`;
export const nodeAddress = (number: number): string => `198.18.0.1${number}`;
export const nodePodRange = (number: number): string => `198.18.${127 + number}.0/24`;
