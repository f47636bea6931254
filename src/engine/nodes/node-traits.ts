/** How kinds of nodes differ. Callers check these traits instead of the kind. */
export interface NodeTraits {
  /**
   * Whether the node runs in this process. If so, it accepts any number of requests, and its lists are always
   * current.
   */
  answersAtOnce: boolean
  /**
   * Whether the node can never become unreachable (`isUnreachable`) or stuck on its own. If so, we never give up on its
   * runs or withdraw them.
   */
  isNeverUnreachable: boolean
  /** Whether the node remembers every job that it received. If so, a job that it does not know never arrived. */
  remembersAll: boolean
  /** Whether the node enforces run limits itself. If not, limit-enforcer.ts enforces the wall time. */
  holdsLimits: boolean
  /** Whether logs remain on the node. If so, the archive needs no copy. */
  keepsLogs: boolean
  /** Whether the secret values of a run are hidden from other users. */
  hidesSecrets: boolean
  setsEnvironment: boolean
  /**
   * Whether settings and arguments are on the command line, where their size is limited. If not, they are in a
   * file.
   */
  startsByCommand: boolean
  fetchesEggs: boolean
  /** The likely reason if the node lists a job twice. */
  listedTwiceBecause: string
  /** Whether the node is this computer, with our clock and CPUs. */
  runsHere: boolean
}

export const SCRAPYD_TRAITS: NodeTraits = {
  answersAtOnce: false,
  isNeverUnreachable: false,
  remembersAll: false,
  holdsLimits: false,
  keepsLogs: false,
  hidesSecrets: false,
  setsEnvironment: false,
  startsByCommand: true,
  fetchesEggs: false,
  listedTwiceBecause: 'the request arrived twice (does a proxy repeat requests?)',
  runsHere: false
}

/** A pulling node. Its journal remembers all jobs sent after the journal began (pulling-node.ts). */
export const PULLING_TRAITS: NodeTraits = { ...SCRAPYD_TRAITS, setsEnvironment: true }

export const LOCAL_TRAITS: NodeTraits = {
  answersAtOnce: true,
  isNeverUnreachable: true,
  remembersAll: true,
  holdsLimits: true,
  keepsLogs: true,
  hidesSecrets: true,
  setsEnvironment: true,
  startsByCommand: false,
  fetchesEggs: false,
  listedTwiceBecause: 'the request arrived twice',
  runsHere: true
}

/**
 * A namespace of a cluster. The name of a Job derives from the jobid, so a missing Job never arrived or was
 * deleted.
 */
export const KUBERNETES_TRAITS: NodeTraits = {
  ...SCRAPYD_TRAITS,
  remembersAll: true,
  hidesSecrets: true,
  setsEnvironment: true,
  fetchesEggs: true,
  listedTwiceBecause: 'Kubernetes started two pods for its Job'
}

/** A local node on another machine, which can be unreachable. The logs are copied from that machine. */
export const ENGINE_TRAITS: NodeTraits = {
  ...LOCAL_TRAITS,
  answersAtOnce: false,
  isNeverUnreachable: false,
  // The engine's name may have moved to another machine.
  remembersAll: false,
  keepsLogs: false,
  runsHere: false
}
