import { sentencesOf } from '../sentence.ts'
import { withStop } from '../parts.ts'

const MEBIBYTE = 1024 * 1024

const megabytes = (bytes: number): string => `${(bytes / MEBIBYTE).toFixed(bytes < 10 * MEBIBYTE ? 1 : 0)} MB`

export const projectsErrors = {
  'projects.no_version': ({ project, version, near }: { project: string; version: string; near: string }) =>
    `The project ${project} has no version "${version}".${near}`,
  'projects.version_without_egg': ({ version, project }: { version: string; project: string }) =>
    `Version ${version} of ${project} was only seen on nodes; Scrapdeck has no egg to send. Upload it first.`,
  'projects.no_spider': ({
    version,
    project,
    spider,
    near
  }: {
    version: string
    project: string
    spider: string
    near: string
  }) => `Version ${version} of ${project} has no spider "${spider}".${near}`,
  'projects.no_project': ({ name, near }: { name: string; near: string }) =>
    `No node and no upload has a project "${name}".${near}`,
  'projects.version_in_use': ({ jobs, what, advice }: { jobs: string; what: string; advice: string }) =>
    `${jobs} ${what}. Cancel or wait, then ${advice}.`,
  'projects.folder_too_large': ({ directory, path }: { directory: string; path: string }) =>
    `The folder ${directory} is too large for an egg: ${path}.`,
  'projects.no_scrapy_cfg': () => 'The project folder has no scrapy.cfg.',
  'projects.project_name_invalid': ({ project, problem }: { project: string; problem: string }) =>
    `The project name ${JSON.stringify(project)} ${problem}.`,
  'projects.too_many_files': ({ packed, maxFiles }: { packed: number; maxFiles: number }) =>
    `The project has ${packed} files; the limit is ${maxFiles}. Leave out data and installed packages.`,
  'projects.scrapy_cfg_too_large': ({ configurationMaxBytes }: { configurationMaxBytes: number }) =>
    `scrapy.cfg is larger than ${configurationMaxBytes} bytes.`,
  'projects.scrapy_cfg_without_settings': () => 'scrapy.cfg has no line "default = PROJECT.settings" in [settings].',
  'projects.settings_module_missing': ({ settingsModule, path }: { settingsModule: string; path: string }) =>
    `scrapy.cfg names the settings module ${settingsModule}, but there is no ${path}.py beside it.`,
  'projects.file_unsafe': ({ path, problem }: { path: string; problem: string }) =>
    `The file ${JSON.stringify(path)} ${problem}.`,
  'projects.no_metadata': () =>
    'The archive has no EGG-INFO/PKG-INFO and no *.dist-info/METADATA, so it is neither an egg nor a wheel, and no scrapy.cfg, so it is not a Scrapy project either. Build an egg with scrapyd-deploy --build-egg, or zip the folder that holds scrapy.cfg.',
  'projects.no_settings_entry': ({ why }: { why: string }) =>
    `The egg has no entry point "settings" in the group "scrapy"${why}, so Scrapy would find no project in it. Add entry_points={'scrapy': ['settings = PROJECT.settings']} to its setup.py and build it again.`,
  'projects.spider_name_invalid': ({ shown, problem }: { shown: string; problem: string }) =>
    `The name of the spider "${shown}" ${problem}. Rename the spider`,
  'projects.project_not_named': ({ suggestion }: { suggestion: string }) =>
    `The egg does not name its project. Specify the project, for example ${suggestion}.`,
  'projects.uploaded_project_name_invalid': ({ name, problem }: { name: string; problem: string }) =>
    `The project name ${JSON.stringify(name)} ${problem}.`,
  'projects.version_name_invalid': ({ version }: { version: string }) =>
    `${JSON.stringify(version)} is not a valid version name.`,
  'projects.archive_not_read': ({ what }: { what: string }) =>
    `Reading the archive ${what}. Put fewer or smaller files into it.`,
  'projects.eggs_dir_unusable': ({ directory, error }: { directory: string; error: string }) =>
    `The egg directory ${directory} cannot be created (${error}). Correct eggs_dir`,
  'projects.runs_without_egg': ({ project }: { project: string }) =>
    `${project} runs without an egg: there is no version to delete. Remove it from [settings] in the configuration.`,
  'projects.runs_without_any_egg': ({ project }: { project: string }) =>
    `${project} has no egg to delete. Remove it from [settings] in the configuration.`,
  'projects.settings_project_invalid': ({ project, problem }: { project: string; problem: string }) =>
    `[settings]: the project ${JSON.stringify(project)} ${problem}.`,
  'projects.settings_module_invalid': ({ project, settingsModule }: { project: string; settingsModule: string }) =>
    `[settings]: ${project} = ${settingsModule} is not the name of a Python module. Write "${project} = package.settings".`,
  'projects.import_failed': ({ name, end }: { name: string; end: string }) =>
    `The code in the egg cannot be imported on ${name}. Its output:\n${end}`,
  'projects.spiders_unknown': ({ version, project, reason }: { version: string; project: string; reason: string }) =>
    `The spiders of version ${version} of ${project} are not known: Scrapdeck runs no project code here, and ${reason}. Add or start a node that can import it, or give a local node slots`,
  'projects.zip_unreadable': ({ error }: { error: string }) =>
    `The file cannot be read as a zip archive (${error}). Build the egg again and upload it.`,
  'projects.zip_entry_damaged': ({ name, error }: { name: string; error: string }) =>
    `${name} in the archive is damaged: ${withStop(error)}`,
  'projects.archive_too_large': ({ sizeBytes, most }: { sizeBytes: number; most: number }) =>
    `The file has ${megabytes(sizeBytes)}; the limit is ${megabytes(most)}.`,
  'projects.archive_entries': ({ entries, most }: { entries: number; most: number }) =>
    `The archive has ${entries} entries; the limit is ${most}.`,
  'projects.archive_list_too_large': ({ most }: { most: number }) =>
    `The list of files in the archive has more than ${megabytes(most)}.`,
  'projects.archive_unpacks_too_large': ({ most }: { most: number }) =>
    `The archive unpacks to more than ${megabytes(most)}.`,
  'projects.archive_is_bomb': ({ ratio }: { ratio: number }) =>
    `The archive unpacks to more than ${ratio} times its size, which only a zip bomb does.`,
  'projects.archive_entry_too_large': ({ name, sizeBytes, most }: { name: string; sizeBytes: number; most: number }) =>
    `${name} in the archive has ${sizeBytes} bytes; the limit is ${most}.`,
  'projects.archive_entry_name': ({ name, problem }: { name: string; problem: string }) =>
    `The entry ${JSON.stringify(name)} of the archive ${problem}.`,
  'projects.archive_entry_is_link': ({ name }: { name: string }) =>
    `The entry ${JSON.stringify(name)} of the archive is a symbolic link.`,
  'projects.archive_entry_encrypted': ({ name }: { name: string }) =>
    `The entry ${JSON.stringify(name)} of the archive is encrypted.`,
  'projects.pinned_version_missing': ({ project, version }: { project: string; version: string }) =>
    `${project} is pinned to version "${version}", which is missing. Upload it, or pin another version.`
}

export const sentence = sentencesOf(projectsErrors)
