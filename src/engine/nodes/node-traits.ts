/** How kinds of nodes differ. Callers check these traits instead of the kind. */
export interface NodeTraits {
  /** The node runs in this process. It accepts any number of requests, and its lists are always current. */
  answersAtOnce: boolean
  /** The node cannot become unreachable or stuck on its own, so we never give up or withdraw its runs. */
  isNeverAway: boolean
  /** The node remembers every job that it received. If it does not know a job, the job never arrived. */
  remembersAll: boolean
  /** The node enforces run limits itself. Otherwise limit-enforcer.ts enforces the wall time. */
  holdsLimits: boolean
  /** Logs remain on the node, so the archive needs no copy. */
  keepsLogs: boolean
  /** Other users cannot see the secret values of a run. */
  hidesSecrets: boolean
  setsEnvironment: boolean
  /** Settings and arguments are on the command line, which limits their size. Otherwise they are in a file. */
  startsByCommand: boolean
  fetchesEggs: boolean
  /** The likely reason if the node lists a job twice. */
  listedTwiceBecause: string
  /** The node is this computer, with our clock and CPUs. */
  runsHere: boolean
}

export const SCRAPYD_TRAITS: NodeTraits = {
  answersAtOnce: false,
  isNeverAway: false,
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

/** A pulling node. Its journal remembers all jobs, unless the journal is newer than the run (pulling-node.ts). */
export const PULLING_TRAITS: NodeTraits = { ...SCRAPYD_TRAITS, setsEnvironment: true }

export const LOCAL_TRAITS: NodeTraits = {
  answersAtOnce: true,
  isNeverAway: true,
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

/** The name of a Kubernetes Job derives from the jobid. A missing Job never arrived or was deleted. */
export const KUBERNETES_TRAITS: NodeTraits = {
  ...SCRAPYD_TRAITS,
  remembersAll: true,
  hidesSecrets: true,
  setsEnvironment: true,
  fetchesEggs: true,
  listedTwiceBecause: 'Kubernetes started two pods for its Job'
}

/** A local node on another machine. That machine can be unreachable. Its logs are copied. */
export const ENGINE_TRAITS: NodeTraits = {
  ...LOCAL_TRAITS,
  answersAtOnce: false,
  isNeverAway: false,
  // The engine's name may have moved to another machine.
  remembersAll: false,
  keepsLogs: false,
  runsHere: false
}
