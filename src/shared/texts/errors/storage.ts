import { formatBytes } from '../../format-bytes.ts'
import { sentencesOf } from '../sentence.ts'
import { withoutStop } from '../parts.ts'

export const storageErrors = {
  'storage.secret_key_differs': ({ database }: { database: string }) =>
    `The secret.key in the data directory is not the one that the other engines on ${database} have. Copy theirs.`,
  'storage.blobs_differ': ({ database, where }: { database: string; where: string }) =>
    `The engines on ${database} need the same blobs: ${where}. To move the blobs, stop all engines, copy them (copy-blobs), and start all engines with the new option.`,
  'storage.no_other_engine_to_lead': () =>
    'No other engine can lead: at least one more must be running and not drained. Start one first.',
  'storage.no_engine': ({ id }: { id: string }) => `There is no engine ${id}. It may have restarted.`,
  'storage.no_follower_to_lead': () =>
    'No other engine can lead now: there must be a follower that is not drained. Start one first.',
  'storage.engine_alone': () =>
    'This is the only engine on its database. Running several needs `store = postgres://…` (docs/scaling.md).',
  'storage.not_a_backup': () => 'This is not a backup of Scrapdeck. Name a file that scrapdeck backup wrote.',
  'storage.backup_key_missing': ({ keyId }: { keyId: string }) =>
    `The backup is encrypted with the key ${keyId}, which is not here. Name a file that has it with --key-file, or configure encryption_key_file.`,
  'storage.backup_damaged': ({ what }: { what: string }) => `The backup is damaged: ${what}. Use another backup.`,
  'storage.secrets_need_encryption': () =>
    'Secrets are only included in encrypted backups. Configure encryption_key_file.',
  'storage.no_data_directory': ({ dataDirectory }: { dataDirectory: string }) =>
    `There is no data directory ${dataDirectory}. Name it with --data.`,
  'storage.directory_of_another_user': ({ dataDirectory, owner }: { dataDirectory: string; owner: string }) =>
    `${dataDirectory} belongs to another user (${owner}). Run this command as that user, for example with runuser -u USER.`,
  'storage.no_store': ({ dataDirectory, database }: { dataDirectory: string; database: string }) =>
    `${dataDirectory} has no store: there is no ${database}.`,
  'storage.copy_needs_disk': ({
    bytes,
    directory,
    freeBytes
  }: {
    bytes: number
    directory: string
    freeBytes: number
  }) =>
    `A copy of the database needs ${formatBytes(bytes)} on the disk of ${directory}, which has ${formatBytes(freeBytes)} free. Free some space.`,
  'storage.directory_not_empty': ({ directory }: { directory: string }) =>
    `${directory} is not empty. Nothing was changed. Name another directory with --data, or move away what is there.`,
  'storage.not_restored': ({ directory, problem }: { directory: string; problem: string }) =>
    `${directory} cannot be restored: ${problem}. Nothing was left there.`,
  'storage.redis_address_invalid': ({ what }: { what: string }) =>
    `${what}. Write redis://HOST:6379/0, and the password in a file`,
  'storage.credentials_unreadable': ({ file }: { file: string }) =>
    `The credentials in ${file} cannot be read. Correct the file, or delete it to generate new ones.`,
  'storage.credentials_empty': () =>
    'The user name and the password must not be empty: authentication is always required.',
  'storage.user_name_with_colon': () =>
    'The user name must not contain a colon: Basic authentication uses it as the separator.',
  'storage.encryption_key_missing': ({ what, id, next }: { what: string; id: string; next: string }) =>
    `${what} is encrypted with the key ${id}, which is not here. ${next}`,
  'storage.encryption_key_unreadable': ({ keyPath, problem }: { keyPath: string; problem: string }) =>
    `The key file ${keyPath} cannot be read (${problem}).`,
  'storage.encryption_key_invalid': ({ keyPath }: { keyPath: string }) =>
    `${keyPath} is not a Scrapdeck key file: it must have 64 hexadecimal digits, as openssl rand -hex 32 prints.`,
  'storage.secret_of_another_key': ({ keyPath }: { keyPath: string }) =>
    `A stored secret was not encrypted with ${keyPath}. Enter it again.`,
  'storage.key_file_unusable': ({ path }: { path: string }) =>
    `The key file ${path} cannot be read or created. Check its permissions.`,
  'storage.key_file_invalid': ({ path }: { path: string }) =>
    `${path} is not a Scrapdeck key file. Restore the right one, or move it away and enter the nodes' passwords again.`,
  'storage.key_file_open_to_others': ({ path }: { path: string }) =>
    `The key file ${path} can be read by other users. Make it private (chmod 600) and change the nodes' passwords.`,
  'storage.file_not_trusted': ({
    path,
    subject,
    reason,
    remedy,
    otherwise
  }: {
    path: string
    subject: string
    reason: string
    remedy: string
    otherwise: string
  }) => `${path} is not trusted: ${subject} ${reason}. If it is yours: ${remedy}. Otherwise ${otherwise}`,
  'storage.postgres_address_invalid': ({ what }: { what: string }) =>
    `${what}. Write postgres://USER@HOST:5432/DATABASE, and the password in a file`,
  'storage.data_directory_unusable': ({ path, error }: { path: string; error: string }) =>
    `The data directory ${path} cannot be used: ${withoutStop(error)}. Use --data to name another one.`,
  'storage.syslog_address_invalid': ({ what }: { what: string }) =>
    `${what}. Write tls://HOST:6514, tcp://HOST:601 or udp://HOST:514`,
  'storage.scrapdeck_stopping': () => 'Scrapdeck is stopping',
  'storage.blobs_in_directory_unusable': ({ path, what }: { path: string; what: string }) =>
    `The blobs in ${path} cannot be used: ${what}`,
  'storage.shared_blobs_unusable': ({ path, hint }: { path: string; hint: string }) =>
    `The blobs in ${path} cannot be used: ${hint}`,
  'storage.blob_name_invalid': ({ name }: { name: string }) => `${JSON.stringify(name)} is not a valid blob name`,
  'storage.blob_prefix_invalid': ({ prefix }: { prefix: string }) =>
    `${JSON.stringify(prefix)} is not a valid blob name prefix`,
  'storage.no_blob': ({ name }: { name: string }) => `There is no file ${name} in the blob store`,
  'storage.file_not_written': ({ path, problem }: { path: string; problem: string }) =>
    `${path} cannot be written: ${problem}`,
  'storage.upload_directory_unusable': ({ directory, error }: { directory: string; error: string }) =>
    `The directory for uploads ${directory} cannot be used (${error}). Correct its permissions`,
  'storage.disk_full': ({ path }: { path: string }) => `${path} cannot be written: the disk is full. Free some space.`,
  'storage.too_many_uploads': () => 'Too many uploads at the same time. Try again when others have finished.',
  'storage.directory_unusable': ({ directory, error }: { directory: string; error: string }) =>
    `The directory ${directory} cannot be used (${error}). Correct its permissions`,
  'storage.blob_damaged': ({ name, what }: { name: string; what: string }) =>
    `The blob ${name} is damaged: ${what}. Restore it from a backup of the bucket, or upload it again`,
  'storage.bucket_unusable': ({ address, what }: { address: string; what: string }) =>
    `The blobs at ${address} cannot be used: ${what}`,
  'storage.bucket_being_taken': ({ address, object }: { address: string; object: string }) =>
    `Another Scrapdeck is claiming the blobs at ${address} right now. Start again. If there is none, delete the object ${object} under the prefix.`,
  'storage.blob_replaced': ({ name, what }: { name: string; what: string }) =>
    `The blob ${name} was replaced several times while it was ${what}. Repeat the request.`,
  'storage.bucket_failed': ({ address, failure }: { address: string; failure: string }) =>
    `The blobs at ${address} cannot be used: ${failure}`,
  'storage.file_became_shorter': ({ path }: { path: string }) => `${path} became shorter while it was uploaded`,
  'storage.upload_took_too_long': ({ key }: { key: string }) => `The upload of ${key} took longer than 6 hours.`,
  'storage.encrypted_file_damaged': ({ name, what }: { name: string; what: string }) =>
    `The encrypted file ${name} is damaged: ${what}. Restore it from a backup, or upload it again`,
  'storage.blobs_of_another_store': ({ name, ifForeign }: { name: string; ifForeign: string }) =>
    `The blobs at ${name} belong to the store of another Scrapdeck. ${ifForeign}`,
  'storage.stores_of_same_kind': ({ instead }: { instead: string }) =>
    `Both stores are of the same kind. ${instead} (docs/scaling.md).`,
  'storage.copy_begun_elsewhere': ({ text }: { text: string }) =>
    `${text} Copy from there, or start over with --restart.`,
  'storage.copy_differs': ({ text, next }: { text: string; next: string }) =>
    `${text} It was not put in place. ${next}`,
  'storage.namespace_without_store': ({ address }: { address: string }) =>
    `${address} has no store: no Scrapdeck has used this namespace.`,
  'storage.namespace_in_use': ({ what }: { what: string }) => `${what} Choose another namespace, or drop that schema.`,
  'storage.directory_without_store': ({ directory, file }: { directory: string; file: string }) =>
    `${directory} has no store: there is no ${file}.`,
  'storage.database_exists': ({ what }: { what: string }) =>
    `${what} Move that file away, or copy to another data directory.`,
  'storage.blobs_twice': () =>
    'Both a plugin and the option blobs set where blobs are stored; only one of them can. Remove one of them.',
  'storage.server_unusable': ({ name, refusal }: { name: string; refusal: string }) =>
    `${name} cannot serve: ${refusal}.`,
  'storage.namespace_taken': ({ name }: { name: string }) =>
    `Another Scrapdeck is using ${name}. Stop it, or choose another namespace for this one.`,
  'storage.not_leader': () => 'Another engine leads now. Nothing was changed; repeat the request.',
  'storage.change_unknown': ({ name, error }: { name: string; error: string }) =>
    `${name}: the connection was lost (${error}) before it said whether the change was made. Check, then repeat the request.`,
  'storage.no_job': ({ id }: { id: string }) => `There is no job ${id}; it may have been deleted`,
  'storage.data_from_newer_version': ({
    holder,
    newestVersion,
    orElse
  }: {
    holder: string
    newestVersion: number
    orElse: string
  }) => `${holder} up to ${newestVersion}. Use the newer Scrapdeck that wrote it${orElse}.`,
  'storage.migrate_first': ({ text }: { text: string }) =>
    `${text} Start this Scrapdeck with it once, which migrates it, and stop it.`,
  'storage.no_job_to_wait_for': ({ jobId, onJobId }: { jobId: string; onJobId: string }) =>
    `Job ${jobId} is to wait for ${onJobId}, which does not exist.`,
  'storage.no_version_to_deploy': ({ project, version }: { project: string; version: string }) =>
    `Project ${project} has no version ${version} that could be deployed. Upload it first.`,
  'storage.schedule_removed': ({ name }: { name: string }) =>
    `The schedule ${name} was removed in the meantime. Create it again`,
  'storage.store_stopping': () => 'Scrapdeck is stopping and accepts no more requests.',
  'storage.changed_meanwhile': ({ noun, next, present }: { noun: string; next: number; present: number | undefined }) =>
    `The ${noun} was changed in the meantime: expected to write revision ${next}, but it is at ${present ?? 0}. Reload it and try again.`,
  'storage.directory_taken': ({ directory }: { directory: string }) =>
    `Another Scrapdeck is using ${directory}. Stop it, or start this one with another data directory.`,
  'storage.database_foreign': ({ database, foreign }: { database: string; foreign: string }) =>
    `${database}: it is damaged or not a Scrapdeck database: it has the ${foreign}. Restore a backup, DROP what is not Scrapdeck's, or choose another data directory.`,
  'storage.no_write_ahead_log': ({ database, mode }: { database: string; mode: string }) =>
    `${database} is on a file system without write-ahead logging (it gave ${mode}). Choose a local disk.`,
  'storage.backup_database_damaged': ({ what }: { what: string | undefined }) =>
    `The database in the backup is damaged (${what ?? 'its check returned nothing'}). Use another backup.`,
  'storage.database_thread_exited': ({ path, reason }: { path: string; reason: string }) =>
    `${path}: its database thread has exited (${reason}). Restart Scrapdeck; everything acknowledged is on disk.`,
  'storage.s3_address_invalid': ({ problem }: { problem: string }) =>
    `${problem}. Write s3://BUCKET/PREFIX?region=eu-central-1, or s3://BUCKET/PREFIX?endpoint=https://s3.example:9000`,
  'storage.s3_not_an_address': () => 'The address of the blobs is not an S3 address',
  'storage.s3_address_has_credentials': () =>
    'The address of the blobs must not contain credentials: it is shown in process lists and logs',
  'storage.s3_bucket_invalid': ({ bucket }: { bucket: string }) => `${bucket} is not the name of a bucket`,
  'storage.s3_prefix_invalid': ({ prefix }: { prefix: string }) =>
    `The prefix ${prefix} may consist only of letters, digits, dots, "_", "-" and single slashes`,
  'storage.s3_parameter_unknown': ({ name, known }: { name: string; known: readonly string[] }) =>
    `The address of the blobs has no parameter ${name}, only ${known.join(', ')}`,
  'storage.s3_region_invalid': ({ region }: { region: string }) => `${region} is not the name of a region`,
  'storage.s3_style_invalid': () => 'The parameter style is path or virtual',
  'storage.s3_sse_invalid': ({ methods }: { methods: readonly string[] }) =>
    `The parameter sse is one of ${methods.join(', ')}`,
  'storage.s3_sse_key_invalid': () => 'The parameter sse_key is the id or ARN of a key for sse=aws:kms',
  'storage.s3_endpoint_not_http': () => 'The endpoint is not an http or https URL',
  'storage.s3_endpoint_has_credentials': () => 'The endpoint must not contain credentials',
  'storage.s3_endpoint_has_path': () => 'The endpoint consists only of scheme, host and port',
  'storage.key_line_invalid': ({ line, source }: { line: number; source: string }) =>
    `Line ${line} of ${source} is not a key: write 64 hexadecimal digits (openssl rand -hex 32), or base64 of 32 bytes.`,
  'storage.too_many_keys': ({ source, max }: { source: string; max: number }) =>
    `${source} has more than ${max} keys. Remove those no longer used.`,
  'storage.key_twice': ({ source }: { source: string }) => `${source} has the same key twice. Remove one of the lines.`,
  'storage.no_key': ({ source }: { source: string }) =>
    `${source} has no key. Create one with scrapdeck make-key, or write 64 hexadecimal digits (openssl rand -hex 32), or base64 of 32 bytes.`,
  'storage.key_file_too_large': ({ path }: { path: string }) => `${path} is too large for a key file.`,
  'storage.key_file_unreadable': ({ path, code }: { path: string; code: string }) =>
    `The key file ${path} cannot be read (${code}). Restore it, or correct encryption_key_file.`,
  'storage.key_file_not_private': ({ path }: { path: string }) =>
    `The key file ${path} can be read by other users. Make it private (chmod 600), and change the keys.`,
  'storage.key_command_failed': ({ how }: { how: string }) =>
    `The command that prints the keys (encryption_key_command) ${how}. Run it by hand to see why.`,
  'storage.command_took_too_long': ({ seconds }: { seconds: number }) => `took longer than ${seconds} s`,
  'storage.command_failed': ({ code }: { code: number | string | null }) => `failed (${code ?? 'no exit code'})`,
  'storage.key_is_lost': () => 'The key file says that this key is lost. Restore the key to read it.',
  'storage.add_key': () =>
    'Add that key to encryption_key_file (or to what encryption_key_command prints), and start Scrapdeck again.',
  'storage.database_disk_full': ({ path }: { path: string }) => `${path}: the disk is full. Free some space.`,
  'storage.database_read_only': ({ path }: { path: string }) =>
    `${path}: it cannot be written. Give the user that runs Scrapdeck write permission there, or choose another data directory.`,
  'storage.database_cannot_open': ({ path }: { path: string }) =>
    `${path}: it cannot be opened or created. Check that the data directory is a writable directory.`,
  'storage.database_io_failed': ({ path }: { path: string }) =>
    `${path}: a disk read or write failed. Check its space, quota and health.`,
  'storage.database_damaged': ({ path }: { path: string }) =>
    `${path}: it is damaged or not a Scrapdeck database. Restore a backup, or choose another data directory.`,
  'storage.database_locked': ({ path }: { path: string }) =>
    `${path}: another program holds a lock on it. Close that program and try again.`,
  'storage.postgres_login_refused': ({ name }: { name: string }) =>
    `${name}: it refused the user name or the password. Check them in the address of the database, or in the password file.`,
  'storage.postgres_database_missing': ({ name }: { name: string }) =>
    `${name}: there is no such database. Create it (CREATE DATABASE), or correct the address.`,
  'storage.postgres_right_missing': ({ name, message }: { name: string; message: string }) =>
    `${name}: the user lacks a privilege (${message}). Grant it CREATE and CONNECT on the database, and let it own its schema.`,
  'storage.postgres_no_room': ({ name, message }: { name: string; message: string }) =>
    `${name}: it has no room left (${message}). Free disk space or memory on the database server.`,
  'storage.postgres_too_many_connections': ({ name }: { name: string }) =>
    `${name}: it accepts no more connections. Raise max_connections, or end other clients.`,
  'storage.postgres_statement_cancelled': ({ name }: { name: string }) =>
    `${name}: a statement took too long and was cancelled. Look for locks and load on the database server.`,
  'storage.postgres_read_only': ({ name }: { name: string }) =>
    `${name}: it is read-only: a replica, or set to read-only. Connect to the primary.`,
  'storage.postgres_host_unknown': ({ name, message }: { name: string; message: string }) =>
    `${name}: its host name is unknown (${message}). Correct the address, or check DNS.`,
  'storage.postgres_not_listening': ({ name }: { name: string }) =>
    `${name}: nothing listens there. Start PostgreSQL, or correct host and port.`,
  'storage.postgres_no_response': ({ name }: { name: string }) =>
    `${name}: it does not respond. Check the network and the load of the database server.`,
  'storage.postgres_connection_lost': ({ name, message }: { name: string; message: string }) =>
    `${name}: the connection was lost (${message}). Scrapdeck reconnects automatically.`,
  'storage.keys_differ': ({ name, database }: { name: string; database: string }) =>
    `The engines on ${database} need the same encryption keys: this engine cannot read what ${name} stores, or ${name} cannot read what this engine would store. Give all engines the same encryption_key_file. Add a new key below the one in use on all of them before you move it to the first line. To start using encryption, stop all engines first.`,
  /** `holder` of `data_from_newer_version` and `data_too_old`. */
  'storage.schema_of': ({ name, present }: { name: string; present: number }) =>
    `${name} has schema version ${present}; this Scrapdeck supports versions`,
  'storage.data_too_old': (of: { holder: string; baseline: number; commit: string; orElse: string }) =>
    `${of.holder} from ${of.baseline} on. Open it once with Scrapdeck's commit ${of.commit}, which migrates it${of.orElse}.`,
  'storage.or_other_namespace': () => ', or choose another namespace',
  'storage.or_other_data_directory': () => ', or choose another data directory',
  'storage.schema_older': ({ name, version, newest }: { name: string; version: number; newest: number }) =>
    `${name} has schema version ${version}, an older one than this Scrapdeck (${newest}).`,
  'storage.shared_queue_tables': ({ name, tables }: { name: string; tables: number }) =>
    `${name} has ${tables === 0 ? 'no table' : 'several tables'} spider_job.`,
  'storage.shared_queue_deployments': ({ name, refs }: { name: string; refs: readonly string[] }) =>
    `${name} has the jobs of several deployments. Name one with --execution-ref: ${refs.join(', ')}`
}

export const sentence = sentencesOf(storageErrors)
