import type { Words } from './parts.ts'

interface OfProject {
  project: string
}

/** Texts about the Pythons of the local node, their builds, and how its spiders start. */
export const pythons = {
  /** Why this computer's node has no Python for a project. */
  'python.not_ready': () => 'Python is not ready yet.',
  'python.checking': ({ command }: { command: string }) => `${command} is being checked.`,
  'python.building': ({ project, progress }: OfProject & { progress: Words }) =>
    `The Python environment of ${project} is being built (${progress}).`,
  'python.not_built': ({ project, why }: OfProject & { why: Words }) =>
    `The Python environment of ${project} could not be built. ${why}`,
  'python.scrapdeck_stopping': () => 'Scrapdeck is stopping',
  'python.not_usable': ({ command, oldest, why }: { command: string; oldest: string; why: Words }) =>
    `${command} cannot be used as Python (${why}). Specify Python ${oldest} or newer.`,
  'python.old': ({ command, version, oldest }: { command: string; version: string; oldest: string }) =>
    `${command} is Python ${version}. Specify Python ${oldest} or newer.`,
  'python.no_scrapy': ({ command, version, path }: { command: string; version: string; path: string }) =>
    `${command} is Python ${version} without Scrapy. ${installScrapy(path)}`,
  'python.scrapy_broken': (of: { command: string; version: string; path: string; why: Words }) =>
    `${of.command} is Python ${of.version}, but its Scrapy cannot be imported (${of.why}). ${installScrapy(of.path)}`,

  /** Whether this computer has a Python with Scrapy. */
  'python.looking': () => 'Looking for Python and Scrapy.',
  'python.being_built': () => 'The Python environment is being built.',
  'python.turned_off': () => 'The local node is turned off',
  'python.none': ({ oldest }: { oldest: string }) => `No Python was found. ${installPython(oldest)}`,
  'python.none_usable': ({ path, oldest, why }: { path: string; oldest: string; why: Words }) =>
    `${path} cannot be used as Python (${why}). ${installPython(oldest)}`,
  'python.too_old': ({ version, oldest }: { version: string; oldest: string }) =>
    `Python ${version} was found but is too old. ${installPython(oldest)}`,
  'python.without_scrapy': ({ version }: { version: string }) =>
    `Python ${version} was found but Scrapy is not installed; press Create environment.`,
  'python.with_broken_scrapy': ({ version, why }: { version: string; why: Words }) =>
    `Python ${version} was found but its Scrapy cannot be imported (${why}); press Create environment.`,
  /** Why a program is not a Python. */
  'python.late': ({ seconds }: { seconds: number }) => `it took more than ${seconds} seconds to answer`,
  'python.other_program': () => 'its output is not that of a Python interpreter',
  'python.failed_silently': () => 'it failed without an error message',

  /** How far a build or a search is. */
  'build.looking': () => 'Looking for Python and Scrapy',
  'build.checking': ({ command }: { command: string }) => `Checking ${command}`,
  'build.choosing': () => 'Looking for a Python to build with',
  'build.queued': () => 'waiting for other builds',
  'build.started': ({ version }: { version: string }) => `Starting from Python ${version}`,
  'build.finishing': () => 'finishing',
  'build.ready': () => 'Python with Scrapy is ready',

  /** Why a build failed. */
  'build.no_environment': ({ why }: { why: Words }) => `The environment could not be built: ${why}`,
  'build.no_packages': ({ why }: { why: Words }) => `The packages could not be installed: ${why}`,
  'build.no_scrapy': ({ why }: { why: Words }) => `Scrapy cannot be imported in it: ${why}`,
  'build.late': () => 'it took more than an hour',
  'build.no_venv': () => 'this Python has no venv module. Install it (on Debian and Ubuntu: apt install python3-venv)',
  'build.unfinished': () => 'Its build was never finished. Rebuild or delete it.',
  'build.failed': ({ why, isServing }: { why: Words; isServing: boolean }) =>
    `${why}. Fix the requirements, or try again.${isServing ? ' The previous build is still in use.' : ''}`,

  /** How spiders start. */
  'start.cold': () => 'Each spider starts its own Python process',
  'start.cold_apart': () =>
    'Each spider starts its own Python process, because spiders are kept apart and only the main Python is loaded for all.',
  'start.no_fork': () => 'Each spider starts its own Python process, because forking is not safe on this system.',
  'start.turned_off': () =>
    'Each spider starts its own Python process: warm starts are turned off in the configuration.',
  'start.warm': () => 'Scrapy is already loaded, so spiders start in milliseconds.',
  'start.warming': () => 'Scrapy is being loaded; until it is, each spider starts its own Python process.',
  'start.fails': ({ why }: { why: Words }) =>
    `Each spider starts its own Python process (${why}). Scrapdeck will retry.`,
  'start.first': () => 'Until the first spider has started, each starts its own Python process.',
  'start.no_answer': () => 'the process that forks spiders did not answer',
  'start.late': () => 'loading Scrapy took too long',
  'start.ended': ({ how }: { how: string }) => `the process that forks spiders ended (${how})`,

  /** Why spiders cannot be isolated. `apart.impossible` starts a sentence, the others follow it. */
  'apart.impossible': ({ way, why }: { way: string; why: Words }) =>
    `Spiders cannot be kept apart (keep_spiders_apart = ${way}): ${why}. Until then no spider runs here.`,
  'apart.not_linux': () => 'this needs Linux. Use nodes that run on Linux, or set keep_spiders_apart = off',
  'apart.not_root': () =>
    'only root can run spiders as other users. Use keep_spiders_apart = sandbox, or start Scrapdeck as root',
  'apart.users_taken': ({ taken }: { taken: string }) =>
    `user ids of spider_users belong to ${taken}. Set spider_users to an unused range`,
  'apart.users_unreadable': ({ path, why }: { path: string; why: string }) =>
    `which user each project has cannot be read from ${path} (${why})`,
  'apart.no_other_user': ({ why }: { why: Words }) =>
    `a process cannot be given another user (${why}). It takes the capabilities SETUID, SETGID, SETPCAP, CHOWN, FOWNER, DAC_OVERRIDE and KILL`,
  'apart.no_bubblewrap': () => 'bubblewrap is not installed. Install it (on Debian and Ubuntu: apt install bubblewrap)',
  'apart.bubblewrap_fails': ({ why }: { why: Words }) =>
    `bubblewrap does not work here (${why}). It needs user namespaces, which the system or a container may forbid`,
  'apart.closed': ({ directory, runner, why }: { directory: string; runner: string; why: Words }) =>
    `users of projects do not get through to ${directory}, or cannot read ${runner} (${why}). Let others pass through the directories above both (chmod o+x), and read the second`
}

const installPython = (oldest: string): string => `Install Python ${oldest} or newer, then press Create environment.`

const installScrapy = (path: string): string =>
  `Install it there (${path} -m pip install Scrapy), or give the project requirements instead.`
