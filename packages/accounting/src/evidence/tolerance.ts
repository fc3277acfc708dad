/** How far apart two observations may lie and still be one event. */
export const toleranceMs = {
  /**
   * Between a moment of the timeline and the same moment as a client saw it. The timeline is read by polling and by waiting for
   * children, in a process that shares its cores with the load.
   */
  observation: 100,
  /** The kubelet may have acted on a deletion before the API server's news of it were read here. */
  news: 2_000,
  /**
   * From writing a request on a kept-alive connection to the reset that answers it, when the other end closed meanwhile: a round trip,
   * and what event loops lag on a busy machine. A request that waited longer had reached the server.
   */
  race: 50,
  /** So long nothing at all comes from a pod whose network is cut: longer than a packet takes that is sent again three times. */
  silence: 1_500,
  /** nf_conntrack_tcp_timeout_close, and the time until a client sees the reset. */
  remembered: 10_500,
  /** From the listener's closing to the end of the process, when it is the end that closed the listener. */
  exit: 60,
} as const;
