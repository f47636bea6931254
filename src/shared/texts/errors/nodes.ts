import { sentencesOf } from '../sentence.ts'

export const nodesErrors = {
  'nodes.no_node_source': ({ id }: { id: string }) => `There is no node source ${id}; it may have been removed`,
  'nodes.source_in_configuration': ({ id }: { id: string }) =>
    `The source ${id} is set in the configuration file. Change it there and restart Scrapdeck.`,
  'nodes.dns_failed': ({ record, hostname, why }: { record: string; hostname: string; why: string }) =>
    `${record} records of ${hostname}: ${why}.`,
  'nodes.no_node': ({ id }: { id: string }) => `There is no node ${id}; it may have been removed`,
  'nodes.cluster_address_invalid': ({ problem }: { problem: string }) =>
    `${problem}. The address of a cluster looks like https://HOST:6443/api/v1/namespaces/NAME.`,
  'nodes.credential_file_not_allowed': ({ path, why }: { path: string; why: string }) => `The file ${path} ${why}.`,
  'nodes.egg_link_expired': () => 'This link to an egg is not valid: it has expired, or its run has ended',
  'nodes.python_unusable': ({ command, why }: { command: string; why: string }) =>
    `The Python ${command} ${why}. Correct --python, SCRAPDECK_PYTHON or the option python, or remove it: Scrapdeck then looks for one.`,
  'nodes.environment_no_log': ({ id }: { id: string }) => `The environment ${id} has no log.`,
  'nodes.main_python_not_removable': () => 'The main Python cannot be removed.',
  'nodes.python_in_use': ({ projects }: { projects: readonly string[] }) =>
    `${projects.join(', ')} uses it. Choose another Python for it first.`,
  'nodes.no_python_build': () => 'There is no Python to build it with.',
  'nodes.main_python_not_ours': ({ path }: { path: string | null }) =>
    `The main Python is ${path}, which Scrapdeck did not build and cannot rebuild.`,
  'nodes.no_environment': ({ id }: { id: string }) => `There is no environment ${id}; it may have been deleted.`,
  'nodes.local_node_turned_off': () => 'The local node is turned off; it has no environments.',
  'nodes.environment_being_built': () => 'The environment is already being built.',
  'nodes.environment_in_use': ({ id }: { id: string }) =>
    `Spiders are still running in the environment ${id}. Wait until they end.`,
  'nodes.listing_failed': ({ cause, end }: { cause: string; end: string }) => `${cause} Its last output:\n${end}`,
  'nodes.local_node_hosted': ({ pid, directory }: { pid: number; directory: string }) =>
    `The process ${pid} hosts the local node in ${directory}. Give each engine a data directory of its own, or start this one with local_slots = 0.`,
  'nodes.protocol_differs': ({ protocol, theirs }: { protocol: number; theirs: number }) =>
    `This Scrapdeck speaks version ${protocol} of the protocol, not ${theirs}. Install the package that came with it on the node.`,
  'nodes.pulling_node_connected': ({ hostname, node }: { hostname: string; node: string }) =>
    `${hostname} is connected as ${node}. Two Scrapyds cannot be one node: add another node, or stop the other Scrapyd.`,
  'nodes.too_many_jobs_listed': ({ most }: { most: number }) => `A node may list at most ${most} jobs.`,
  'nodes.egg_not_needed': () => 'No job that is offered to this node needs this egg.',
  'nodes.session_superseded': () => 'Another Scrapyd, or this one after a restart, took over the session.',
  'nodes.session_unknown': () => 'Scrapdeck was restarted. Open a new session.',
  'nodes.scrapdeck_stopping': () => 'Scrapdeck is stopping.',
  'nodes.address_invalid': ({ problem }: { problem: string }) => `${problem}. An address looks like http://eu-1:6800.`,
  'nodes.proxy_behind_ssh': () =>
    'A node behind an SSH host cannot have a proxy too. Remove one of them; ProxyJump or ProxyCommand in ~/.ssh/config can say how ssh reaches its host.',
  'nodes.proxy_invalid': ({ problem }: { problem: string }) =>
    `${problem}. A proxy looks like http://proxy:3128, or is \`direct\`.`
}

export const sentence = sentencesOf(nodesErrors)
