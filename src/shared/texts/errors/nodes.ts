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
    `It is used by ${projects.join(', ')}. Choose another Python there first.`,
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
  'nodes.too_many_jobs_listed': ({ most }: { most: number }) => `A node can list up to ${most} jobs.`,
  'nodes.egg_not_needed': () => 'No job that is offered to this node needs this egg.',
  'nodes.session_superseded': () => 'Another Scrapyd, or this one after a restart, took over the session.',
  'nodes.session_unknown': () => 'Scrapdeck was restarted. Open a new session.',
  'nodes.scrapdeck_stopping': () => 'Scrapdeck is stopping.',
  'nodes.address_invalid': ({ problem }: { problem: string }) => `${problem}. An address looks like http://eu-1:6800.`,
  'nodes.proxy_behind_ssh': () =>
    'A node behind an SSH host cannot have a proxy too. Remove one of them; ProxyJump or ProxyCommand in ~/.ssh/config can say how ssh reaches its host.',
  'nodes.proxy_invalid': ({ problem }: { problem: string }) =>
    `${problem}. A proxy looks like http://proxy:3128, or is \`direct\`.`,
  'nodes.client_key_missing': () => 'A client certificate and its key belong together, and the key is missing.',
  'nodes.client_certificate_missing': () =>
    'A client certificate and its key belong together, and the certificate is missing.',
  'nodes.client_key_encrypted': () =>
    'The client key is protected by a passphrase. Remove the passphrase; Scrapdeck encrypts the key itself.',
  'nodes.client_key_invalid': () => 'The client key is not a private key in PEM form (-----BEGIN PRIVATE KEY-----).',
  'nodes.client_key_differs': () => 'The client key does not match the client certificate.',
  'nodes.ca_certificate_invalid': () => 'The CA certificate is not in PEM form (-----BEGIN CERTIFICATE-----).',
  'nodes.client_certificate_invalid': () => 'The client certificate is not in PEM form (-----BEGIN CERTIFICATE-----).',
  'nodes.ssh_address_invalid': ({ problem }: { problem: string }) =>
    `${problem}. An address looks like ssh://ops@bastion:22/http://10.0.0.5:6800.`,
  'nodes.address_empty': () => 'The address is empty',
  'nodes.address_not_http': ({ protocol }: { protocol: string }) =>
    `The address starts with ${protocol}//, but Scrapyd supports only http and https`,
  'nodes.address_has_query': () => 'The address has a query (?) or a fragment (#); remove it',
  'nodes.address_is_metadata': ({ host }: { host: string }) =>
    `${host} is a link-local or cloud metadata address, where no Scrapyd can be`,
  'nodes.ssh_host_is_metadata': ({ host }: { host: string }) =>
    `${host} is a link-local or cloud metadata address, where no SSH host can be`,
  'nodes.name_is_metadata': ({ name }: { name: string }) =>
    `${name} is the name of a cloud metadata service, where no Scrapyd can be`,
  'nodes.user_name_has_colon': () => 'A user name for Scrapyd cannot contain a colon',
  'nodes.not_an_address': () => 'This is not a valid address',
  'nodes.address_has_bare_percent': () =>
    'The user name or password in the address contains a % that is not an escape; write it as %25',
  'nodes.kubeconfig_no_context': () => 'The kubeconfig has no current context; name one.',
  'nodes.kubeconfig_no_server': ({ cluster }: { cluster: string | null }) =>
    `The cluster ${cluster} of the kubeconfig has no server.`,
  'nodes.kubeconfig_insecure': ({ cluster }: { cluster: string | null }) =>
    `The cluster ${cluster} turns off the verification of certificates. Specify its CA instead.`,
  'nodes.kubeconfig_runs_program': ({ user, field }: { user: string | null; field: string }) =>
    `The user ${user} gets its credentials from a program (${field}). Create a service account and use its token.`,
  'nodes.kubeconfig_names_file': ({ user, field }: { user: string | null; field: string }) =>
    `The user ${user} names a file (${field}). Embed it: kubectl config view --flatten --raw.`,
  'nodes.kubeconfig_has_password': ({ user }: { user: string | null }) =>
    `The user ${user} has a password, which Kubernetes refuses.`,
  'nodes.kubeconfig_not_yaml': () => 'The kubeconfig is not valid YAML.',
  'nodes.kubeconfig_has_no_fields': () => 'The kubeconfig is not valid: it has no fields.',
  'nodes.kubeconfig_lacks': ({ field, name }: { field: string; name: string }) =>
    `The kubeconfig has no ${field} ${name}.`,
  'nodes.kubeconfig_missing': () => 'There is no kubeconfig: paste the text of the file.',
  'nodes.not_in_cluster': () =>
    'Scrapdeck does not run in a pod with a service account here, so `in-cluster` has no meaning.',
  'nodes.cluster_over_ssh': () => 'A cluster cannot be reached through an SSH host',
  'nodes.cluster_without_namespace': () => 'The address does not name a namespace',
  'nodes.cluster_with_user_name': () => 'The API server takes a token or a client certificate, not a user name',
  'nodes.cluster_without_https': () => 'The API server must be reached by https',
  'nodes.file_keeps_changing': ({ path }: { path: string }) =>
    `${path}: it keeps changing while it is read. Write a temporary file and rename it to this name.`,
  'nodes.file_not_regular': ({ path }: { path: string }) => `${path}: it is not a regular file. Specify one.`,
  'nodes.file_too_large': ({ path, megabytes }: { path: string; megabytes: number }) =>
    `${path}: it is larger than ${megabytes} MB.`,
  'nodes.file_is_no_text': ({ path }: { path: string }) => `${path}: it is not UTF-8 text. Save it as UTF-8.`,
  'nodes.file_unreadable': ({ path, why }: { path: string; why: string }) => `${path}: it cannot be read (${why}).`,
  'nodes.file_missing': ({ path }: { path: string }) =>
    `${path}: there is no such file. Create it, or correct the path.`,
  'nodes.file_forbidden': ({ path }: { path: string }) =>
    `${path}: permission denied. Give Scrapdeck permission to read it.`,
  'nodes.file_is_directory': ({ path }: { path: string }) => `${path}: it is a directory. Specify a file in it.`,
  'nodes.python_path_has_nul': () => 'A path has no NUL character.',
  'nodes.requirements_have_nul': () => 'Requirements have no NUL character.',
  'nodes.requirements_empty': () => 'The requirements name no package. Write one per line, as in a requirements file.',
  'nodes.listing_late': ({ seconds }: { seconds: number }) => `Importing the egg took more than ${seconds} seconds.`,
  'nodes.listing_implausible': () => 'The egg lists implausibly many spiders.',
  'nodes.listing_unreadable': ({ why }: { why: string }) => `The list of spiders is not readable (${why}).`,
  'nodes.egg_not_importable': () => 'The code in the egg cannot be imported.',
  'nodes.egg_killed': ({ signal }: { signal: string }) =>
    `The code in the egg cannot be imported: the process was killed by ${signal}.`,
  'nodes.egg_ended': ({ exitCode }: { exitCode: number | null }) =>
    `The code in the egg cannot be imported: it ended the process with exit code ${exitCode ?? 'unknown'}.`,
  'nodes.source_path_not_absolute': () => 'Enter the absolute path of the file on the machine where Scrapdeck runs',
  'nodes.source_list_unusable': ({ problems }: { problems: readonly string[] }) =>
    `The list cannot be used: ${problems.join('; ')}`,
  'nodes.source_list_empty': () => 'The list has no nodes. Enter one address per line',
  'nodes.source_host_invalid': ({ hostname }: { hostname: string }) => `${JSON.stringify(hostname)} is not a host name`,
  'nodes.source_base_path_invalid': () => 'The base path is the part of the address after the port, such as /scrapyd/'
}

export const sentence = sentencesOf(nodesErrors)
