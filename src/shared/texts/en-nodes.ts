import { countOf, several, type Words } from './parts.ts'

interface OfProject {
  project: string
}

const tried = (learned: string, { isTrying }: { isTrying: boolean }): string =>
  isTrying ? `${learned}; trying another` : learned

/** Texts about a node and the runs that it should start. */
export const nodes = {
  /** Why a node cannot start runs of a project now. Follows the node's name. */
  'not_ready.kept_for_former_runs': () => 'is kept for its former runs; new ones go to the nodes of the engines',
  'not_ready.python_not_told': ({ project }: OfProject) => `does not know yet which Python ${project} uses`,
  'not_ready.not_apart': ({ why }: { why: Words }) => `cannot keep spiders apart: ${why}`,
  'not_ready.no_scrapy': () => 'has no Python with Scrapy yet',
  'not_ready.no_python': () => 'has no Python yet',
  'not_ready.checking_python': ({ command }: { command: string }) => `is checking ${command}`,
  'not_ready.python_unusable': ({ project, why }: OfProject & { why: Words }) => `cannot run ${project}: ${why}`,
  'not_ready.building': ({ project, progress }: OfProject & { progress: Words }) =>
    `is building the Python environment of ${project} (${progress})`,
  'not_ready.not_built': ({ project, why }: OfProject & { why: Words }) =>
    `could not build the Python environment of ${project} (${why})`,

  /** Why a Kubernetes pod has not started. */
  'pending.suspended': () => 'its Job is suspended',
  'pending.fetching_egg': () => 'fetching its egg',
  'pending.no_reason': () => 'no reason given',

  /** How a node exceeds these limits. Follows "it lists ". `nouns`: the limits that the node exceeds. */
  'excess.listed': (of: {
    nouns: readonly string[]
    projects: number
    versions: number
    spiders: number
    unusable: number
  }) => {
    const parts = of.nouns.map((noun) => `more than ${countOf(of[noun as 'projects'])} ${noun}`)
    if (of.unusable > 0) parts.push(`${several(of.unusable, 'name')} that cannot be used`)
    return parts.join(' and ')
  },

  /** How a node's number of slots is determined. */
  'slots.set': () => 'set by you',
  'slots.of_node': () => 'reported by the node (max_proc)',
  'slots.of_engine': () => 'reported by its engine',
  'slots.of_quota': ({ quota, field }: { quota: string; field: string }) =>
    `from the ResourceQuota ${quota} (${field})`,
  'slots.of_cpus': () => 'one for each CPU of this computer',
  'slots.unknown': () => 'not known, because Scrapyd does not report it; trying one job first',
  'slots.proved': (of: { slots: number; waited: number; seconds: number; isTrying: boolean }) =>
    tried(`learned: ${of.slots} ran while ${of.waited} waited, for ${of.seconds} s`, of),
  'slots.ran': ({ ran }: { ran: number }) =>
    tried(ran === 1 ? 'learned: one job ran' : `learned: ${ran} ran at once`, { isTrying: true }),

  /** Why a node got a job. */
  'placed.on_free_slot': ({ free, slots }: { free: number; slots: number }) =>
    `${free} of ${slots} slots free, has the egg`,
  'placed.in_queue': ({ place, queueAhead }: { place: number; queueAhead: number }) =>
    `place ${place} of ${queueAhead} ahead in its queue, has the egg`,
  'placed.to_try': () => 'tried for another slot, has the egg',

  /** Why no node of a kind can start a run. */
  'run_problem.name': (of: { noun: string; name: string; fault: Words }) =>
    `The ${of.noun} ${of.name} ${of.fault}, and it names a folder or a file of logs.`,
  'run_problem.version': ({ name }: { name: string }) => `${name} is not a valid version name.`,
  'run_problem.variable_large': ({ name }: { name: string }) =>
    `The variable ${name} is too large to pass to a process.`,
  'run_problem.setting_unpassable': ({ name }: { name: string }) =>
    `The setting or argument ${name} cannot be passed to a process.`,
  'run_problem.setting_large': ({ name }: { name: string }) =>
    `The setting or argument ${name} is too large to pass to a process.`,
  'run_problem.argument_reserved': ({ name }: { name: string }) =>
    `Scrapyd uses the argument name ${name} itself. Rename the argument.`,
  'run_problem.no_egg': ({ project, version }: OfProject & { version: string }) =>
    `there is no egg of ${project}, version ${version}`,
  'run_problem.egg_unreadable': ({ project, version, why }: OfProject & { version: string; why: Words }) =>
    `the egg of ${project}, version ${version}, cannot be read: ${why}`,
  'run_problem.version_unknown': ({ version }: { version: string }) => `version '${version}' not found`,
  'run_problem.secret_unreadable': ({ names }: { names: readonly string[] }) =>
    `a secret value (${names.join(', ')}) cannot be decrypted with the current key, so nothing was sent. Run the job again and re-enter its secret values`,
  'run_problem.already_accepted': ({ jobid }: { jobid: string }) => `job '${jobid}' was already accepted`,
  /** Follows "rejected the request: ". */
  'run_problem.name_unusable': (of: { noun: string; name: string; fault: Words }) =>
    `the ${of.noun} ${of.name} ${of.fault}`
}
