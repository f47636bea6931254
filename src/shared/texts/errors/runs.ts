import { sentencesOf } from '../sentence.ts'
import { withStop } from '../parts.ts'

export const runsErrors = {
  'runs.no_items_export': () => 'There are no items to export.',
  'runs.export_too_large': () => 'The exported file is larger than the limit.',
  'runs.too_many_fields': ({ fieldsMax }: { fieldsMax: number }) =>
    `The items have more than ${fieldsMax} different fields, too many for columns. Export them as JSON lines.`,
  'runs.duckdb_needs_more': ({ memoryLimit, spillLimit }: { memoryLimit: string; spillLimit: string }) =>
    `This needs more than the ${memoryLimit} of memory or ${spillLimit} of disk that reading items may use. Filter first, or choose another field.`,
  'runs.line_too_long': () =>
    'The file has a line of more than 16 MB, which DuckDB does not skip. Pages and filters work without a sort.',
  'runs.duckdb_failed': ({ said }: { said: string }) => `DuckDB could not read the items: ${said}`,
  'runs.too_many_exports': ({ exports }: { exports: number }) =>
    `${exports} exports are being written. Wait until one of them is finished.`,
  'runs.export_gone': () => 'This export no longer exists. Export again.',
  'runs.directory_unusable': ({ directory, error }: { directory: string; error: string }) =>
    `The directory ${directory} cannot be used (${error}). Correct its permissions`,
  'runs.too_many_item_requests': () => 'Too many requests for items are waiting. Repeat this one in a few seconds.',
  'runs.scrapdeck_stopping': () => 'Scrapdeck is stopping.',
  'runs.items_took_too_long': ({ timeoutMs }: { timeoutMs: number }) =>
    `Reading the items took longer than ${timeoutMs / 1000} s. Filter them first.`,
  'runs.items_process_failed': ({ what }: { what: string }) =>
    `The process that reads items ${what}. Repeat the request, or filter first.`,
  'runs.job_no_item': ({ jobId, index }: { jobId: string; index: number }) =>
    `Job ${jobId} has no item ${index}; the first one is 0.`,
  'runs.items_too_large_to_count': ({ jobId }: { jobId: string }) =>
    `The items of job ${jobId} are too large to be counted.`,
  'runs.no_readable_items': ({ jobId, yet }: { jobId: string; yet: string }) =>
    `Job ${jobId} has no items${yet} that can be read: its run wrote none, or its node keeps none.`,
  'runs.no_items_yet': ({ jobId, which }: { jobId: string; which: string }) =>
    `Job ${jobId} ${which}, so it has no items.`,
  'runs.needs_duckdb': ({ what }: { what: string }) =>
    `${what} needs DuckDB, which is not available here. Pages, filters and the other exports work without it.`,
  'runs.items_unreadable': () =>
    'The file is neither JSON lines nor a JSON list nor CSV with a header. Download it instead.',
  'runs.items_file_gone': () => 'The file of the items is gone. Reload.',
  'runs.items_not_a_file': () => 'The items are not a regular file, so they are not read.',
  'runs.row_not_csv': ({ index, error }: { index: number; error: string }) =>
    `Row ${index + 1} of the file is not valid CSV (${error}).`,
  'runs.disk_full': () => 'The disk of the data directory is full. Free some space and try again.',
  'runs.items_too_large_to_copy': ({ gigabytes, limit }: { gigabytes: string; limit: string }) =>
    `The items take up ${gigabytes} GB; up to ${limit} GB is copied from a node. Read them on the node.`,
  'runs.too_many_item_copies': () => 'The items of several other runs are being copied. Try again soon.',
  'runs.items_being_copied': ({ copied, total }: { copied: string; total: string }) =>
    `${copied} of ${total} GB of the items has been copied from their node so far. Repeat the request in a few seconds.`,
  'runs.items_changed': () => 'The items changed on their node while they were being copied. Reload.',
  'runs.no_error_group': ({ id }: { id: number }) => `There is no error group ${id}. Reload the list`,
  'runs.items_too_large_to_keep': ({ gigabytes, limit }: { gigabytes: string; limit: string }) =>
    `The items take up ${gigabytes} GB; up to ${limit} GB of a run is kept`,
  'runs.archived_items_damaged': ({ jobId }: { jobId: string }) =>
    `The archived items of job ${jobId} are damaged and cannot be repaired.`,
  'runs.items_deleted': ({ jobId, day }: { jobId: string; day: string }) =>
    `Retention deleted the items of job ${jobId} on ${day}.`,
  'runs.items_not_kept': ({ jobId, why }: { jobId: string; why: string }) =>
    `The items of job ${jobId} could not be kept: ${withStop(why)}`,
  'runs.items_deleted_by_node': () => 'The node deleted the items before they were copied',
  'runs.no_such_attempt': ({ jobId }: { jobId: string }) => `Job ${jobId} has no such attempt`,
  'runs.log_not_read_yet': ({ jobId }: { jobId: string }) => `The log of job ${jobId} has not been read yet`,
  'runs.archived_log_damaged': ({ what }: { what: string }) =>
    `The archived log is damaged: ${what}. It cannot be repaired`,
  'runs.log_deleted_before_copy': ({ jobId }: { jobId: string }) =>
    `The log of job ${jobId} was deleted before it could be copied`,
  'runs.log_differs_each_time': ({ jobId }: { jobId: string }) =>
    `The node of job ${jobId} describes its log differently in each response, so the log could not be copied`,
  'runs.no_readable_log': ({ jobId }: { jobId: string }) => `Job ${jobId} has no readable log`,
  'runs.log_deleted': ({ jobId, day }: { jobId: string; day: string }) =>
    `Retention deleted the log of job ${jobId} on ${day}`,
  'runs.no_readable_log_or_not_yet': ({ jobId, mayGrow }: { jobId: string; mayGrow: boolean }) =>
    `Job ${jobId} has no readable log${mayGrow ? ' yet' : ''}`,
  'runs.not_a_time': ({ time }: { time: string }) => `${JSON.stringify(time)} is not a time such as 14:05`,
  'runs.log_without_times': () => 'No line of this log begins with a date and time',
  'runs.no_readable_log_yet': ({ jobId }: { jobId: string }) => `Job ${jobId} has no readable log yet`,
  'runs.no_attempt': ({ jobId, number, attempts }: { jobId: string; number: number; attempts: string }) =>
    `Job ${jobId} has no attempt ${number}; its attempts are ${attempts}`,
  'runs.search_busy': ({ what }: { what: string }) => `${what}. Try again soon.`,
  'runs.expression_invalid': ({ error }: { error: string }) => `The regular expression is not valid: ${error}`,
  'runs.expression_too_slow': () => 'The regular expression takes too long on this log. Make it simpler',
  'runs.expression_too_slow_for_logs': () => 'The regular expression takes too long on these logs. Make it simpler',
  'runs.cursor_invalid': ({ text }: { text: string }) =>
    `${JSON.stringify(text)} is not the cursor of a search over logs`,
  'runs.export_too_large_unfiltered': () => 'The exported file is larger than the limit. Filter the items.',
  'runs.items_too_large_for_duckdb': () => 'The items are too large to be converted for DuckDB.'
}

export const sentence = sentencesOf(runsErrors)
