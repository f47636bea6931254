/**
 * Whether a file belongs to the project. A log states neither the packages of a project nor where it is deployed, so
 * every file outside the known places of other code belongs to the project.
 */
export function isProjectFile(file: string): boolean {
  return !FOREIGN.test(file.replaceAll('\\', '/'))
}

const FOREIGN = new RegExp(
  [
    // Installed packages, and code without a file: `<frozen importlib._bootstrap>`, `<string>`.
    String.raw`/(?:site|dist)-packages/|^<`,
    // Scrapdeck's own scripts, which start a spider.
    String.raw`(?:^|/)[Rr]esources/python/(?:apart|crawl|hidden_values|parking|supervisor|warm)\.py$|(?:^|/)scrapdeck_node/`,
    // The standard library: `/usr/lib/python3.11/asyncio/…`, `C:/Python311/Lib/asyncio/…`.
    String.raw`/lib(?:64)?/(?:python|pypy)\d[\d.]*t?/|/[Pp]ython[\d.-]*/[Ll]ib/`,
    // Scrapy and Twisted, also from a checkout.
    String.raw`(?:^|/)scrapy/(?:__init__|cmdline|core|crawler|middleware|utils|extensions|commands|contracts|dupefilters|downloadermiddlewares|spidermiddlewares|http|linkextractors|loader|logformatter|pipelines|selector|signalmanager|spiders/(?:__init__|crawl|feed|init|sitemap)|statscollectors|squeues|resolver|mail|exporters|addons|shell)(?:/|\.py$)`,
    String.raw`(?:^|/)(?:twisted/(?:internet|python|web|protocols|logger|names|application|_threads|trial)|scrapyd|zope/interface|queuelib|parsel|itemloaders|itemadapter|w3lib)/`
  ].join('|')
)

const KEPT_FOLDERS = 3

/**
 * The part of a path that does not depend on the location or version of the deployment. Scrapyd runs eggs, so paths
 * contain the egg, a temporary file, or `build/bdist.linux-x86_64/egg/` from the build.
 */
export function projectPath(file: string): string {
  const path = file.replaceAll('\\', '/')
  const eggAt = Math.max(path.lastIndexOf('.egg/'), path.lastIndexOf('/egg/'))
  const rest = eggAt < 0 ? path : path.slice(path.indexOf('/', eggAt + 1) + 1)
  return rest
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .slice(-KEPT_FOLDERS)
    .join('/')
}
