import { countOf, type Words, withoutStop, withStop } from './parts.ts'

/** `label`: the name of the node, usually with its address: `eu-1 (http://eu-1:6800)`. */
interface Labelled {
  label: string
}
/** The first host of the connection: a proxy, an SSH host, or (null) the node itself. */
interface Hop extends Labelled {
  via: 'proxy' | 'ssh' | null
  at: string
}
interface Asked extends Labelled {
  endpoint: string
}
interface OfPulling {
  node: string
}

const PROGRAMS = { scrapyd: 'Scrapyd', kubernetes: 'its API server', engine: 'its engine' }
export type NodeProgram = keyof typeof PROGRAMS

const CREDENTIALS = { ca: 'CA file', token: 'token file' }
export type CredentialFile = keyof typeof CREDENTIALS

const BECAME = {
  replaced: (version: string) => `It has replaced the node's previous version ${version}: send a corrected one.`,
  unknown: (version: string) => `It is not known whether the node kept it: check for version ${version} there.`,
  removed: () => 'It was removed from the node.',
  not_kept: () => 'The node did not keep it.',
  not_removed: (version: string) =>
    `It could not be removed: delete version ${version} there, or the node may use it as the latest.`
}
export type RefusedEgg = keyof typeof BECAME

function hop({ via, at }: Hop): string {
  if (via === null) return at
  return via === 'proxy' ? `its proxy ${at}` : `SSH host ${at}`
}

/** An endpoint, or a file of a run. */
const named = (what: string): string => (what === 'log' || what === 'items' ? `the ${what}` : what)

const unreachable = ({ label }: Labelled): string => `Node ${label} cannot be reached`

/** Why a request to a node failed (NodeError). A parameter named `why` is an external text or another message. */
export const nodeErrors = {
  'node_error.not_contacted': ({ label, why }: Labelled & { why: Words }) => `Node ${label} was not contacted: ${why}`,
  'node_error.removed_before_sending': () => 'The node was removed before the job was sent',
  'node_error.not_in_fleet': () => 'Its node is not in the fleet',
  'node_error.removed_or_changed': ({ label }: Labelled) => `Node ${label} was removed or changed.`,

  'node_error.proxy_unusable': ({ why, ...node }: Labelled & { why: string }) =>
    `${unreachable(node)}: HTTP_PROXY or HTTPS_PROXY cannot be used: ${why} Correct it and restart Scrapdeck, or set a proxy for this node.`,
  'node_error.nothing_listens': ({ host, program, ...node }: Labelled & { host: string; program: NodeProgram }) =>
    `${unreachable(node)}: nothing listens on ${host}. Start ${PROGRAMS[program]} there, or correct the address.`,
  'node_error.nothing_listens_first': (of: Hop) =>
    `${unreachable(of)}: nothing listens on ${hop(of)}. Correct the node's proxy setting, or HTTP_PROXY and HTTPS_PROXY.`,
  'node_error.name_unresolved': (of: Hop) =>
    `${unreachable(of)}: the name ${hop(of)} does not resolve. Correct the address, or check DNS.`,
  'node_error.no_connection': (of: Hop) =>
    `${unreachable(of)}: ${hop(of)} did not accept a connection. Check the network, firewall and address.`,
  'node_error.no_tls': (of: Hop & { errorCode: string }) =>
    `${unreachable(of)}: ${hop(of)} does not accept TLS (${of.errorCode}). Try http:// instead of https://.`,
  'node_error.unreachable': ({ why, ...node }: Labelled & { why: string }) =>
    `${unreachable(node)}: ${withoutStop(why)}. Check the address and the network.`,
  'node_error.forbidden_address': ({ label, host }: Labelled & { host: string }) =>
    `Node ${label} is not contacted: ${host} resolves to a link-local or cloud metadata address. Correct the address.`,
  'node_error.closed_here': ({ label }: Labelled) =>
    `Node ${label} was not contacted: Scrapdeck closed the connection.`,
  'node_error.proxy_rejects_login': (of: Hop) =>
    `${unreachable(of)}: ${hop(of)} rejects the user name or password (407). Correct them in the proxy setting of the node.`,
  'node_error.proxy_refused': (of: Hop & { host: string; status: number | null }) =>
    `${unreachable(of)}: ${hop(of)} could not connect to ${of.host} (the proxy answered ${of.status}). Correct the proxy or the address.`,
  'node_error.proxy_refuses_login': (node: Labelled) =>
    `${unreachable(node)}: its proxy refuses its user name or password (407). Correct them in the proxy of the node.`,
  'node_error.proxy_refuses_password': (node: Labelled) =>
    `${unreachable(node)}: its proxy refuses the password (407).`,
  /** `why` is a sentence that also says what to do. */
  'node_error.ssh_down': ({ why, ...node }: Labelled & { why: Words }) => `${unreachable(node)}: ${why}`,
  'node_error.ssh_timeout': (of: Hop & { host: string }) =>
    `${unreachable(of)}: ${hop(of)} got no connection to ${of.host} in time. Check the network and firewall behind it, and the address.`,
  'node_error.ssh_forbids': (of: Hop & { host: string }) =>
    `${unreachable(of)}: ${hop(of)} does not allow connections to ${of.host}. See AllowTcpForwarding and PermitOpen in its sshd_config, and permitopen in authorized_keys.`,
  'node_error.ssh_refused': (of: Hop & { host: string; why: string; program: NodeProgram }) =>
    `${unreachable(of)}: ${hop(of)} could not connect to ${of.host} (${of.why}). Start ${PROGRAMS[of.program]} there, or correct the address.`,

  'node_error.certificate_untrusted': ({ label, errorCode }: Labelled & { errorCode: string }) =>
    `Node ${label} cannot be trusted: its TLS certificate was rejected (${errorCode}). Add its CA certificate, or correct the address.`,
  'node_error.client_certificate_rejected': ({ label, errorCode }: Labelled & { errorCode: string }) =>
    `Node ${label} rejected the client certificate (${errorCode}). Set a client certificate that it accepts, with its key, in the node's settings.`,
  'node_error.login_rejected': ({ label }: Labelled) =>
    `Node ${label} rejected the user name or password. Correct them in the settings of the node.`,

  'node_error.aborted': ({ label }: Labelled) => `Node ${label} timed out.`,
  'node_error.no_answer': ({ label, endpoint, seconds }: Asked & { seconds: number }) =>
    `Node ${label} did not answer ${endpoint} within ${seconds} s. Check whether it is overloaded or stuck.`,
  'node_error.no_answer_to_tls': ({ label, endpoint, seconds }: Asked & { seconds: number }) =>
    `Node ${label} did not answer ${endpoint} within ${seconds} s. Check whether it uses TLS at all (else: http://), or is stuck.`,
  'node_error.ssh_lost': ({ label, why }: Labelled & { why: Words }) =>
    `Node ${label} lost its connection before its response was complete: ${why}`,
  'node_error.closed_early': (of: Labelled & { errorCode: string; mayWantCertificate: boolean }) => {
    const hint = of.mayWantCertificate ? ' It may require a client certificate.' : ''
    return `Node ${of.label} closed the connection before its response was complete (${of.errorCode}).${hint}`
  },
  'node_error.not_http': ({ label }: Labelled) =>
    `Node ${label} sent a response that is not HTTP. Check the port and http/https.`,
  'node_error.encoded': ({ label, encoding }: Labelled & { encoding: string }) =>
    `Node ${label} sent a response with the encoding ${JSON.stringify(encoding)}, which was not requested. Is this a Scrapyd?`,
  'node_error.too_large': ({ label, endpoint }: Asked) =>
    `Node ${label} sent too large a response to ${endpoint}. Is this a Scrapyd?`,

  'node_error.not_json': ({ label, endpoint, excerpt }: Asked & { excerpt: string }) =>
    `Node ${label} answered ${endpoint} with something that is not JSON (${excerpt || 'empty'}). Is this a Scrapyd, with debug = off and no login page in front of it?`,
  'node_error.other_json': ({ label, endpoint, excerpt }: Asked & { excerpt: string }) =>
    `Node ${label} answered ${endpoint} with JSON that is not Scrapyd's (${excerpt || 'empty'}). Check the address.`,
  'node_error.not_found': ({ label, what }: Labelled & { what: string }) =>
    `Node ${label} has no ${named(what)} (404). Check the address and its base path.`,
  'node_error.web_page': ({ label, what }: Labelled & { what: string }) =>
    `Node ${label} answered ${named(what)} with a web page. Is there a login page in front of it?`,
  /** `target` is null if the response names no address. */
  'node_error.redirects': ({ label, what, target }: Labelled & { what: string; target: string | null }) =>
    `Node ${label} redirects ${named(what)} to ${target === null ? 'nowhere' : target || 'empty'}. Use that address instead.`,
  'node_error.behind_failing_proxy': ({ label, status }: Labelled & { status: number }) =>
    `Node ${label} is down (the proxy answers ${status}). Check that Scrapyd runs there, or see the log of the proxy.`,
  'node_error.status': ({ label, what, status }: Labelled & { what: string; status: number }) => {
    const hint = status === 400 ? ' nginx returns this when it requires a client certificate.' : ''
    return `Node ${label} answered ${named(what)} with status ${status}. See the log of the node or its proxy.${hint}`
  },
  'node_error.refused': ({ label, endpoint, why }: Asked & { why: Words }) =>
    `Node ${label} refused ${endpoint}: ${why || 'no reason given'}`,
  'node_error.too_many_jobs': ({ label, most }: Labelled & { most: number }) =>
    `Node ${label} lists more than ${countOf(most)} jobs, which Scrapdeck does not read. Lower finished_to_keep in its scrapyd.conf, or empty its queue.`,
  'node_error.too_many_projects': ({ label, most }: Labelled & { most: number }) =>
    `Node ${label} lists more than ${countOf(most)} projects, which Scrapdeck does not read.`,
  /** The node refused an egg. `became`: what happened to the egg on the node. */
  'node_error.egg_refused': ({ refusal, became, version }: { refusal: Words; became: RefusedEgg; version: string }) =>
    `${withoutStop(refusal)}. ${BECAME[became](version)}`,
  'node_error.invalid_name': ({ label, name, noun }: Labelled & { name: string; noun: string }) =>
    `Node ${label} was not contacted: ${JSON.stringify(name)} is not a valid ${noun} name.`,

  'node_error.too_large_for_pod': ({ label }: Labelled) =>
    `Node ${label} was not contacted: its settings and arguments are too large to pass to a pod.`,
  'node_error.no_image': ({ label, project }: Labelled & { project: string }) =>
    `Node ${label} was not contacted: no image is set for the project ${project}.`,
  'node_error.no_egg_for_pod': ({ label, project }: Labelled & { project: string }) =>
    `Node ${label} was not contacted: there is no egg of ${project}.`,
  'node_error.no_engine_url': ({ label }: Labelled) =>
    `Node ${label} was not contacted: it has no address at which pods reach Scrapdeck (engineUrl), so they cannot fetch eggs.`,
  'node_error.other_job_there': ({ label, name }: Labelled & { name: string }) =>
    `Node ${label} was not contacted: there is a Job ${name} already, which is not of this run.`,
  'node_error.signal_unsupported': ({ label, signal }: Labelled & { signal: string | number }) =>
    `Node ${label} was not contacted: it cannot send the signal ${signal}, only end a run.`,
  'node_error.lists_no_spiders': ({ label, project, version }: Labelled & { project: string; version: string }) =>
    `Node ${label} cannot list the spiders of ${project}, version ${version}: it is a cluster. A node of another kind, or this computer, can.`,
  'node_error.right_missing': ({ label, right, namespace }: Labelled & { right: string; namespace: string }) =>
    `Node ${label} lacks a right: ${right} in the namespace ${namespace}. Grant it with the Role of docs/kubernetes.md.`,
  'node_error.not_allowed': ({ label, why }: Labelled & { why: string }) =>
    `Node ${label} does not allow this: ${withoutStop(why)}. Grant it with the Role of docs/kubernetes.md.`,
  'node_error.token_rejected': ({ label }: Labelled) =>
    `Node ${label} rejected the token or client certificate. Replace it in the settings.`,
  'node_error.credential_unusable': ({ label, why }: Labelled & { why: string }) =>
    `Node ${label} cannot be used: ${why}`,
  'node_error.credential_unreadable': (of: Labelled & { file: CredentialFile; path: string; why: string }) =>
    `Node ${of.label} cannot be used: ${CREDENTIALS[of.file]} ${of.path} cannot be read (${of.why}). Put the file back, or change the credentials of the node.`,
  'node_error.redirects_all': ({ label, target }: Labelled & { target: string | null }) =>
    `Node ${label} redirects to ${target ?? 'nowhere'}. Is there a login page in front of it?`,
  'node_error.api_status': (of: Labelled & { path: string; status: number; reason: string; why: string }) =>
    withStop(apiStatus(of)),
  'node_error.api_refused': (of: Labelled & { path: string; status: number; reason: string; why: string }) =>
    apiStatus(of),
  'node_error.not_kubernetes': ({ label, path }: Labelled & { path: string }) =>
    `Node ${label} did not answer ${path} as the API server of Kubernetes does.`,
  'node_error.changes_too_fast': ({ label, path }: Labelled & { path: string }) =>
    `Node ${label} changes faster than ${path} can be listed (410).`,
  'node_error.too_many_objects': ({ label, most }: Labelled & { most: number }) =>
    `Node ${label} lists more than ${countOf(most)} objects, which Scrapdeck does not read. Delete ended Jobs of this node.`,
  'node_error.too_many_pods': ({ label }: Labelled) =>
    `Node ${label} lists more Jobs and pods than Scrapdeck reads. Delete ended ones.`,

  'node_error.pulling_removed': ({ node }: OfPulling) => `${node} was removed.`,
  'node_error.pulling_closed': ({ node }: OfPulling) => `${node} was removed, or Scrapdeck is stopping.`,
  'node_error.pulling_disconnected': ({ node }: OfPulling) => `${node} was disconnected.`,
  'node_error.pulling_restarted': ({ node }: OfPulling) => `${node} was restarted.`,
  'node_error.pulling_aborted': ({ node }: OfPulling) => `${node} was not asked any more.`,
  'node_error.pulling_fetched_nothing': ({ node }: OfPulling) => `${node} did not fetch the job in time.`,
  'node_error.pulling_no_answer': ({ node, seconds }: OfPulling & { seconds: number }) =>
    `${node} did not answer within ${seconds} s.`,
  'node_error.pulling_failed': ({ node, why }: OfPulling & { why: string }) => `${node} could not do it: ${why}`,
  'node_error.pulling_other_answer': ({ node }: OfPulling) => `${node} answered something else than it was asked.`,
  'node_error.pulling_other_part': ({ node }: OfPulling) => `${node} sent another part of a file than was asked for.`,
  'node_error.pulling_never_heard': ({ node }: OfPulling) => `${node} has not asked for jobs since Scrapdeck started.`,
  'node_error.pulling_silent': ({ node, seconds }: OfPulling & { seconds: number }) =>
    `${node} has not asked for jobs for ${seconds} s. Is its Scrapyd running?`,
  'node_error.pulling_rejected': ({ node, why }: OfPulling & { why: Words }) => `${node} rejected the request: ${why}`,

  'node_error.engine_away': ({ label }: Labelled) =>
    `Node ${label} cannot be reached: its engine has not said for some seconds that it lives. Start it.`,
  'node_error.engine_of_others': ({ label }: Labelled) =>
    `Node ${label} is another engine's: two engines have one address, or one name. Correct engine_address and engine_name.`,
  'node_error.engine_status': ({ label, endpoint, status }: Asked & { status: number }) =>
    `Node ${label} answered ${endpoint} with status ${status}. See the log of that engine.`,
  'node_error.engine_failed': ({ label, endpoint, why }: Asked & { why: Words }) =>
    `Node ${label} could not do ${endpoint}: ${why}`,
  'node_error.not_engine': ({ label, endpoint }: Asked) =>
    `Node ${label} answered ${endpoint} as no engine does. Do all engines have the same version?`,

  'node_error.local_closing': () => 'The local node is closing.',
  'node_error.local_closed': () => 'The local node is closed.',
  'node_error.local_not_written': ({ why }: { why: string }) =>
    `The local node could not write the run to the data directory: ${why}`,
  'node_error.local_rejected': ({ why }: { why: Words }) => `The local node rejected the request: ${why}`
}

function apiStatus(of: Labelled & { path: string; status: number; reason: string; why: string }): string {
  const reason = of.reason === '' ? '' : ` ${of.reason}`
  const why = of.why === '' ? '' : `: ${of.why}`
  return `Node ${of.label} answered ${of.path} with ${of.status}${reason}${why}`
}
