import { sentencesOf } from '../sentence.ts'

const LIMITED = {
  rules: { noun: 'alert rules', remedy: 'remove some, several at once under Alerts › Rules (filter them first)' },
  channels: { noun: 'alert channels', remedy: 'remove some' },
  silences: {
    noun: 'silences',
    remedy: 'end some, several at once under Alerts › Silences or with "scrapdeck alerts unsilence"'
  }
}

export const apiErrors = {
  'api.rules_being_previewed': () => 'Other rule previews are running. Try again in a moment.',
  'api.channel_keeps_kind': ({ name, kind }: { name: string; kind: string }) =>
    `The kind of ${name} (${kind}) cannot be changed: add another channel.`,
  'api.channel_of_other_projects': ({ name, seen }: { name: string; seen: readonly string[] }) =>
    `The channel ${name} is for rules of ${seen.join(', ')}: choose another channel, or ask an admin to let this rule's project use it.`,
  'api.channel_not_for_reports': () => 'Reports are for people who read them later: choose another kind of channel.',
  'api.no_time_zone': ({ zone }: { zone: string }) =>
    `There is no time zone ${zone}: choose one such as Europe/Berlin.`,
  'api.no_alert': ({ id }: { id: string }) => `There is no alert ${id}; it may have been deleted. Reload the list`,
  'api.no_alert_rule': ({ id }: { id: string }) =>
    `There is no alert rule ${id}; it may have been removed. Reload the list`,
  'api.no_silence': ({ id }: { id: string }) => `There is no silence ${id}; it may have ended. Reload the list`,
  'api.no_alert_channel': ({ id }: { id: string }) =>
    `There is no alert channel ${id}; it may have been removed. Reload the list`,
  'api.chain_removed_meanwhile': ({ id }: { id: string }) => `Chain ${id} was removed by another request`,
  'api.no_chain': ({ id }: { id: string }) => `There is no chain ${id}; it may have been removed. Reload the list`,
  'api.name_invalid': ({ name, problem }: { name: string; problem: string }) => `The name "${name}" ${problem}`,
  'api.single_crawl_not_repeated': () =>
    'A single crawl cannot be paused or repeated. Cancel it, and request it again with an interval',
  'api.no_project_spider': ({ spider }: { spider: string }) =>
    `No project has a spider "${spider}". Deploy it, or specify its project`,
  'api.spider_in_several_projects': ({ count, spider, some }: { count: number; spider: string; some: string }) =>
    `${count} projects have a spider "${spider}" (${some}). Specify the project`,
  'api.no_crawl': ({ id }: { id: string }) => `There is no crawl ${id}; it may have been cancelled`,
  'api.not_time_zone': ({ zone }: { zone: string }) =>
    `"${zone}" is not a time zone. Use a name such as Europe/Berlin or UTC`,
  'api.start_urls_twice': () => '"start_urls" is given twice, by itself and in "params". Give it once',
  'api.no_external_job': ({ node, jobid, project }: { node: string; jobid: string; project: string }) =>
    `${node} lists no live job ${jobid} of ${project} that was started outside Scrapdeck; it may have ended`,
  'api.job_not_adoptable': ({ noun, problem }: { noun: string; problem: string }) =>
    `This job cannot be adopted: its ${noun} ${problem}, so Scrapdeck could not keep a log of it. Cancel it, or leave it as it is`,
  'api.job_is_ours': ({ jobid, node, number, jobId }: { jobid: string; node: string; number: number; jobId: string }) =>
    `${jobid} on ${node} is attempt ${number} of the Scrapdeck job ${jobId}; use that job`,
  'api.dedupe_key_for_one_job': () =>
    'A dedupe key identifies one job: run one spider per request, each with its own key',
  'api.job_not_queued': ({ id }: { id: string }) =>
    `The job ${id} has started or ended: its order can no longer be changed`,
  'api.no_job': ({ missing }: { missing: string }) =>
    `There is no job ${missing}; nothing was changed. Reload the list`,
  'api.node_does_not_pull': ({ name }: { name: string }) => `${name} does not pull its jobs, so it has no token`,
  'api.local_node_not_removable': () =>
    'The local node is part of Scrapdeck and cannot be removed; cordon it so that it gets no jobs',
  'api.local_node_of_engine': ({ name }: { name: string }) =>
    `${name} is the local node of a running engine, and would be added again. Stop that engine first, or start it with local_slots = 0; or cordon the node so that it gets no jobs`,
  'api.jobs_live_on_node': ({ count, name }: { count: number; name: string }) =>
    `${count} Scrapdeck ${count === 1 ? 'job is' : 'jobs are'} still live on ${name}. Drain the node first, or force the removal: the jobs are then marked lost`,
  'api.node_in_fleet': ({ url }: { url: string }) => `${url} is already in the fleet; ask an admin of all nodes`,
  'api.node_in_fleet_as': ({ url, other }: { url: string; other: string }) =>
    `${url} is already in the fleet as ${other}; edit that one`,
  'api.node_not_cluster': ({ node }: { node: string }) => `${node} is not a cluster; add one as a new node.`,
  'api.arrival_unknown': ({ unresolved, name }: { unresolved: number; name: string }) =>
    `It is not known yet whether ${unresolved === 1 ? 'a job' : `${unresolved} jobs`} arrived at ${name}, and this cannot be checked at a new address. Try again in a few seconds. If the node does not respond, first run ${unresolved === 1 ? 'it' : 'them'} elsewhere`,
  'api.no_such_default': ({ name, near, have }: { name: string; near: string; have: string }) =>
    `"withoutDefaults": no argument, setting or variable ${name} is a default of these jobs.${near} ${have}.`,
  'api.order_too_large': ({ items, limit }: { items: number; limit: string }) =>
    `These ${items} jobs have more than ${limit} of settings, arguments and names of left-out defaults together. Split them into several requests.`,
  'api.no_node_can_start': ({ why }: { why: string }) => `No node can start such a job. ${why}`,
  'api.one_job_of_order': ({ index, count, error }: { index: number; count: number; error: string }) =>
    `Job ${index + 1} of ${count}: ${error} Nothing was queued`,
  'api.too_many_names': ({ namesMax, what, names }: { namesMax: number; what: string; names: number }) =>
    `A job can have up to ${namesMax} ${what}, not ${names}`,
  'api.name_of_value_invalid': ({ name, what, problem }: { name: string; what: string; problem: string }) =>
    `The name "${name}" in the ${what} ${problem}. Use another name`,
  'api.argument_reserved': ({ name }: { name: string }) =>
    `A spider argument cannot be called "${name}": Scrapyd or Scrapy uses that name itself. Rename it in the spider`,
  'api.no_node_to_run_on': ({ nodeId }: { nodeId: string }) =>
    `There is no node ${nodeId} to run on; choose another, or any`,
  'api.default_node_removed': ({ project, nodeId }: { project: string; nodeId: string }) =>
    `The defaults of ${project} name the node ${nodeId}, which was removed. Change the defaults, or name another node`,
  'api.expiry_in_past': () => 'Its expiry is in the past. Choose a later time',
  'api.expiry_before_start': () => 'It would expire before it may be sent. Choose a later expiry or an earlier start',
  'api.after_lists_job_twice': () => 'A job appears twice in "after". List each job once, with one condition',
  'api.secret_value_is_mask': () =>
    'A secret value consists only of the dots that are shown in its place. Enter the real value, or retry the old job',
  'api.no_node': ({ unknown }: { unknown: string }) => `There is no node ${unknown}; nothing was sent`,
  'api.version_pinned': ({ project, version }: { project: string; version: string }) =>
    `${project} is pinned to version ${version}. Pin another version or unpin it, then delete this one.`,
  'api.node_no_longer_exists': ({ nodeId }: { nodeId: string }) => `Node ${nodeId} no longer exists`,
  'api.limits_with_same_id': ({ earlier, rule, id }: { earlier: string; rule: string; id: string }) =>
    `"${earlier}" and "${rule}" have the same id ${id}; give each its own id. Nothing was changed`,
  'api.first_request_cut_off': () =>
    'Scrapdeck stopped while it processed the first request, which may or may not have taken effect. Check, and send it with a new key if it did not.',
  'api.idempotency_key_reused': () =>
    'This Idempotency-Key was already used for a different request; nothing was done. Use a new key for each new request.',
  'api.schedule_reached_max_runs': ({ name, maxRuns }: { name: string; maxRuns: number }) =>
    `${name} has reached its limit of ${maxRuns} runs. Raise the limit, then resume it`,
  'api.schedule_ended': ({ name }: { name: string }) =>
    `${name} has ended: its end date has passed. Set a later end date, then resume it`,
  'api.schedule_changed_meanwhile': ({ name }: { name: string }) =>
    `The schedule ${name} has changed since you read it; nothing was written. Reload it and make your change again`,
  'api.schedule_name_unusable': ({ name }: { name: string }) =>
    `The name "${name}" cannot be used; nothing was written. Choose another name`,
  'api.schedule_not_written': ({ what, advice }: { what: string; advice: string }) =>
    `${what}; nothing was written. ${advice}`,
  'api.schedule_problem': ({ id, error }: { id: string; error: string }) => `Schedule ${id}: ${error}`,
  'api.too_many_firings_in_range': ({ count }: { count: string }) =>
    `Schedules fire more than ${count} times in this range. Request a shorter one`,
  'api.next_after_unknown': () =>
    '"after" is not the "nextAfter" of a page of schedules. Send that value, or leave it out to start from the beginning',
  'api.range_ends_before_start': () => 'The end ("untilMs") must be later than the start ("fromMs")',
  'api.range_too_long': () => 'The range is longer than 45 days. Request shorter ranges, one after another',
  'api.local_node_turned_off': () =>
    'The local node is turned off (--local-slots 0), so it needs no Python environment',
  'api.secret_value_of_template_is_mask': ({ where }: { where: string }) =>
    `The secret value of "${where}" consists only of the dots that are shown in its place. Enter the real value`,
  'api.secret_name_unknown': ({ stranger }: { stranger: string }) =>
    `"${stranger}" is marked secret, but no setting, argument or variable has this name. Correct it, or remove it from secretNames`,
  'api.no_webhook': ({ id }: { id: string }) => `There is no webhook ${id}; it may have been removed`,
  'api.fleet_file_partly_applied': ({
    noun,
    name,
    message,
    done,
    count,
    made,
    more
  }: {
    noun: string
    name: string
    message: string
    done: number
    count: number
    made: readonly string[]
    more: string
  }) =>
    `${noun} ${name}: ${message} ${done} of ${count} changes were made before this one (${made.join(', ')}${more}); the others were not. Fix the problem and apply the file again: entries that already match are left unchanged`,
  'api.fleet_files_being_read': () => 'Other fleet files are being read. Try again in a moment',
  'api.fleet_file_not_read': ({ what }: { what: string }) =>
    `The fleet file cannot be applied: reading it ${what}. Nothing was changed`,
  'api.fleet_file_not_valid': ({ shown, more }: { shown: readonly string[]; more: string }) =>
    `The fleet file cannot be applied: ${shown.join('; ')}${more}. Nothing was changed`,
  'api.same_source_and_destination': ({ from }: { from: string }) =>
    `Source and destination are both ${from}. Name two different places.`,
  'api.copy_differs': ({ name }: { name: string }) =>
    `The copy of ${name} does not have the content of the original. Repeat the command, with no engine running`,
  'api.not_data_directory': ({ directory }: { directory: string }) =>
    `${directory} is not a data directory: it has no blobs. Name one, s3://BUCKET/PREFIX?endpoint=…, or file:///SHARED/DIRECTORY`,
  'api.shared_directory_form': () => 'Write a shared directory as file:///SHARED/DIRECTORY',
  'api.no_directory': ({ path }: { path: string }) => `There is no directory ${path}`,
  'api.time_zone_unknown': ({ zone }: { zone: string }) =>
    `"${zone}" is not a time zone; use a name such as Europe/Berlin`,
  'api.cannot_read': ({ path, error }: { path: string; error: string }) => `${path} cannot be read: ${error}`,
  'api.no_file': ({ path }: { path: string }) => `There is no ${path}`,
  'api.no_schedules_in_directory': ({ path, places }: { path: string; places: string }) =>
    `${path} contains neither ${places}. Specify the file itself`,
  'api.no_session': ({ id }: { id: string }) => `There is no session ${id}; it may have ended`,
  'api.sign_in_on_page': () =>
    'Only a user who is logged in to the UI can approve the sign-in of a program. Open the address that the program shows in a browser.',
  'api.project_missing_in': ({ name }: { name: string }) => `Name the project ("${name}")`,
  'api.project_missing': () => 'Name the project ("project")',
  'api.version_added_spiders_unknown': ({ version, project }: { version: string; project: string }) =>
    `Version ${version} of ${project} was added, but its spiders are not known: Scrapdeck runs no project code here, and no node could list them now. They are listed as soon as a node has the version`,
  'api.live_jobs_too_large': ({ liveMaxBytes }: { liveMaxBytes: number }) =>
    `The arguments of unfinished jobs have more than ${liveMaxBytes / 1_000_000} MB together, the limit of one response. List the jobs in pages with GET /api/v1/jobs`,
  'api.backfill_already_running': ({ name }: { name: string }) =>
    `A backfill of ${name} is already running. Wait until it ends, or cancel it first`,
  'api.no_run_times': ({ name, none }: { name: string; none: string }) =>
    `${name} has no run times there ${none}. Choose another range`,
  'api.no_backfill_running': () => 'No backfill of this schedule is running, so there is nothing to cancel',
  'api.too_many_run_times': ({ name, momentsMax }: { name: string; momentsMax: number }) =>
    `${name} has more than ${momentsMax} run times there. Backfill a shorter range, then the next one`,
  'api.engine_stopping': () => 'The engine is stopping; try again once it is running',
  'api.no_schedule': ({ id }: { id: string }) =>
    `There is no schedule ${id}; it may have been removed. Reload the list`,
  'api.template_too_long': ({ project, limit }: { project: string; limit: string }) =>
    `The settings and arguments for ${project} are too long; ${limit}`,
  'api.firing_has_too_many_jobs': ({ name, count, limit }: { name: string; count: number; limit: string }) =>
    `One firing of ${name} would create ${count} jobs; ${limit}`,
  'api.firing_too_large': ({ name, limit }: { name: string; limit: string }) =>
    `The jobs of one firing of ${name} have too many settings and arguments; ${limit}`,
  'api.firing_above_limit': ({ name, limit }: { name: string; limit: string }) =>
    `The jobs of one firing of ${name} would have more than ${limit} of settings and arguments. Split it into several schedules`,
  'api.value_invalid': ({ name, problem }: { name: string; problem: string }) => `${name}: ${problem}`,
  'api.silence_end': () => 'A silence ends after it begins and within a year: choose another end.',
  'api.silence_too_long': ({ every }: { every: string }) =>
    `A silence that repeats every ${every} lasts no longer than a ${every}: shorten it.`,
  'api.silence_over': () =>
    'This silence would never hold, because its last day has passed: choose a later one, or none.',
  'api.no_room': ({ most, what }: { most: number; what: keyof typeof LIMITED }) =>
    `There are already ${most} ${LIMITED[what].noun}, the most there can be: ${LIMITED[what].remedy}.`,
  'api.no_room_in_project': ({
    project,
    own,
    what
  }: {
    project: string | null
    own: number
    what: keyof typeof LIMITED
  }) =>
    `${project} already has ${own} ${LIMITED[what].noun}, the most that one project can have: ${LIMITED[what].remedy}.`,
  'api.little_room_for_projects': (of: {
    project: string | null
    own: number
    left: number
    what: keyof typeof LIMITED
  }) => {
    const { noun, remedy } = LIMITED[of.what]
    return `Projects can add only ${of.left} more ${noun} in all, and ${of.project} already has ${of.own}: ${remedy}.`
  },
  'api.rule_comparison': ({ watch, compares }: { watch: string; compares: readonly string[] }) =>
    `A rule that tells when ${watch} compares with ${compares.join(' or ')} only.`,
  'api.rule_scope': ({ watch, named, fits }: { watch: string; named: string; fits: readonly string[] }) =>
    `A rule that tells when ${watch} would never fire with ${named}. It can name ${fits.length === 0 ? 'nothing' : fits.join(', ')}.`,
  'api.rule_needs_spider': () =>
    'Name the project and the spider that must succeed: of all spiders, some are not meant to run.',
  'api.passkeys_need_browser': () => 'Passkeys need a browser: open the address of this Scrapdeck'
}

export const sentence = sentencesOf(apiErrors)
