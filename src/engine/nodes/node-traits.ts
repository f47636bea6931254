/** What follows from where a node is, by effect. Callers check these traits instead of the kind of node. */
export interface NodeTraits {
  /** Requests end with the engine and are not limited in number, and lists are current. */
  answersAtOnce: boolean
  /** It never becomes unreachable or stuck independently of the engine, so its runs are never given up or withdrawn. */
  isNeverAway: boolean
  /** It remembers every job it received: one that it does not know never arrived. */
  remembersAll: boolean
  /** It enforces run limits itself. Otherwise the wall time is enforced from here (limit-enforcer.ts). */
  holdsLimits: boolean
  /** The logs of its runs stay in place, so they need no copy in the archive. */
  keepsLogs: boolean
  /** It does not expose the secret values of a run to other users. */
  hidesSecrets: boolean
  /** It can set environment variables for a run. */
  setsEnvironment: boolean
  /** Settings and arguments are on the command line of its runs, which limits them; otherwise in a file. */
  startsByCommand: boolean
  /** It fetches the egg of each run from us when the run starts. */
  fetchesEggs: boolean
  /** Why it would list a job of ours twice. */
  listedTwiceBecause: string
  /** It is this computer, with our clock and CPUs. */
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

/** Its journal remembers all, unless it is younger than a run (pulling-node.ts). */
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

/** The name of a Job in Kubernetes is derived from the jobid: a Job that is not there never arrived, or was deleted. */
export const KUBERNETES_TRAITS: NodeTraits = {
  ...SCRAPYD_TRAITS,
  remembersAll: true,
  hidesSecrets: true,
  setsEnvironment: true,
  fetchesEggs: true,
  listedTwiceBecause: 'Kubernetes started two pods for its Job'
}

/** A local node, but of a process that may be away, and on another machine: what it keeps is copied. */
export const ENGINE_TRAITS: NodeTraits = {
  ...LOCAL_TRAITS,
  answersAtOnce: false,
  isNeverAway: false,
  // Another machine may have got the name of its engine.
  remembersAll: false,
  keepsLogs: false,
  runsHere: false
}
