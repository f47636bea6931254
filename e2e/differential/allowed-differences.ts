import type { AllowedDifference } from './exchange.ts'

/** Applied in this order: each one receives Scrapyd's response as changed by the earlier ones. */
export const ALLOWED_DIFFERENCES: readonly AllowedDifference[] = [
  {
    id: 'no-cors',
    reason: 'Scrapyd lets every web page read it; a page has no business with a fleet.',
    anchor: 'no-cors-headers',
    applies: ({ theirs }) => 'access-control-allow-origin' in theirs.headers,
    expect: (theirs) => ({ ...theirs, headers: withoutHeaders(theirs.headers, /^access-control-/) })
  },
  {
    id: 'pages-of-others',
    reason: 'What a foreign page sends is refused, whatever it is.',
    anchor: 'remote-page-requests',
    applies: ({ request, ours }) =>
      request.headers?.origin !== undefined && ours.body.includes('does not accept requests from web pages'),
    expect: (_theirs, { ours }) => ({ ...ours, status: 403 })
  },
  {
    id: 'plain-prefix',
    reason: 'Scrapyd writes any X-Forwarded-Prefix into its pages, markup included.',
    anchor: 'forwarded-prefix',
    applies: ({ request }) => request.headers?.['x-forwarded-prefix']?.includes('<') === true,
    expect: (theirs, { request }) => ({
      ...theirs,
      body: theirs.body.replaceAll(request.headers!['x-forwarded-prefix']!, '')
    })
  },
  {
    id: 'projects-in-order',
    reason: 'Scrapyd lists projects as its directory happens to have them.',
    anchor: 'project-order',
    applies: ({ request }) => request.path === '/listprojects.json',
    expect: (theirs) => ({ ...theirs, body: theirs.body.replace(/(?<="projects": \[).*(?=\], "status")/, sortNames) })
  },
  {
    id: 'no-length-of-nothing',
    reason: 'RFC 9110 forbids a Content-Length in a 204.',
    anchor: 'empty-answers',
    applies: ({ theirs }) => theirs.status === 204,
    expect: (theirs) => ({ ...theirs, headers: withoutHeaders(theirs.headers, /^content-length$/) })
  },
  {
    id: 'length-of-a-refusal',
    reason: 'Twisted tells no length in a 401 to HEAD.',
    anchor: 'empty-answers',
    applies: ({ request, theirs }) => request.method === 'HEAD' && theirs.status === 401,
    expect: (theirs) => ({ ...theirs, headers: { ...theirs.headers, 'content-length': String('Unauthorized'.length) } })
  },
  {
    id: 'bare-bad-request',
    reason: "Twisted's answer to a body it cannot read is one line; ours has headers, as HTTP wants it.",
    anchor: 'empty-answers',
    applies: ({ request, theirs }) =>
      theirs.status === 400 && (request.headers?.['content-type'] ?? '').startsWith('multipart/form-data'),
    expect: (theirs) => ({ ...theirs, headers: { ...theirs.headers, 'content-length': '<as the body>' } })
  },
  {
    id: 'unknown-methods',
    reason: 'The HTTP parser knows the methods of HTTP only.',
    anchor: 'unknown-methods',
    applies: ({ request, ours }) =>
      !METHODS_OF_HTTP.has(request.method) && request.method !== 'JOB' && ours.status === 400,
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'collapsed-slashes',
    reason: 'scrapyd-client doubles the slash of a target that ends in one.',
    anchor: 'collapsed-slashes',
    applies: ({ request, theirs, ours }) => request.path.includes('//') && theirs.status === 404 && ours.status === 200,
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'unsafe-jobid',
    reason: 'A jobid that is a path costs Scrapyd a slot, and the job.',
    anchor: 'unsafe-jobid',
    applies: ({ scenario, request, ours }) =>
      scenario.startsWith('job ids that') &&
      request.path === '/schedule.json' &&
      /^\{"status": "error", "message": "(DirectoryTraversalError: |jobid is invalid: it is longer than)/.test(
        ours.body
      ),
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'empty-version-asked',
    reason: 'An empty _version means the latest, to the end.',
    anchor: 'empty-version',
    applies: ({ request, theirs }) =>
      request.path.startsWith('/listjobs.json') && theirs.body.includes('"version": ""'),
    expect: (theirs) => ({ ...theirs, body: theirs.body.replaceAll('"version": ""', '"version": null') })
  },
  {
    id: 'empty-version-added',
    reason: 'Scrapyd stores it where it finds it no more.',
    anchor: 'empty-version',
    applies: ({ scenario, request, ours }) =>
      scenario.startsWith('eggs that') &&
      request.path === '/addversion.json' &&
      ours.body.includes('"message": "version is invalid: it is empty"'),
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'empty-project-name',
    reason: 'In Scrapyd it is the directory of all eggs: an egg can be put there, and deleting it deletes all.',
    anchor: 'empty-project-name',
    applies: ({ scenario, request, ours }) =>
      scenario === EMPTY_NAMES &&
      ['/addversion.json', '/delproject.json'].includes(request.path) &&
      /"message": "DirectoryTraversalError: \.?"/.test(ours.body),
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'empty-project-name-deletes-all',
    reason: 'Scrapyd has deleted every egg by then.',
    anchor: 'empty-project-name',
    applies: ({ scenario, request, theirs }) =>
      scenario === EMPTY_NAMES && request.path === '/listprojects.json' && theirs.body.includes('"projects": []'),
    expect: (theirs) => ({ ...theirs, body: theirs.body.replace('[]', '["shop"]') })
  },
  {
    id: 'bad-egg-refused',
    reason: 'The lines between are those of the runner; the last is the same.',
    anchor: 'bad-eggs-are-not-kept',
    applies: ({ scenario, request, theirs, ours }) =>
      scenario === BAD_EGGS &&
      request.path === '/addversion.json' &&
      (ours.body.includes('"message": "egg is not a ZIP file') ||
        (lastLineOf(theirs.body) === lastLineOf(ours.body) &&
          ours.body.includes('"message": "RunnerError: Traceback'))),
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'bad-egg-not-kept',
    reason: 'Scrapyd stores an egg before it looks into it, and lists its project.',
    anchor: 'bad-eggs-are-not-kept',
    applies: ({ scenario, request, ours }) =>
      scenario === BAD_EGGS &&
      request.path !== '/addversion.json' &&
      /"(projects|versions)": \[("talking")?\]|(project|version) '[\w-]+' not found/.test(ours.body),
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'printed-lines',
    reason: 'What a project prints while it is imported is no spider.',
    anchor: 'talking-projects',
    applies: ({ scenario, theirs }) => scenario === BAD_EGGS && theirs.body.includes('"hello from settings", '),
    expect: (theirs) => ({ ...theirs, body: theirs.body.replace('"hello from settings", ', '') })
  },
  {
    id: 'printed-lines-counted',
    reason: 'What a project prints while it is imported is no spider.',
    anchor: 'talking-projects',
    applies: ({ scenario, theirs }) => scenario === BAD_EGGS && theirs.body.includes('"project": "talking"'),
    expect: (theirs) => ({ ...theirs, body: theirs.body.replace('"spiders": 4', '"spiders": 3') })
  },
  {
    id: 'other-digits',
    reason: "Python's isdigit takes superscripts, its int then does not.",
    anchor: 'other-digits',
    applies: ({ request, theirs }) =>
      request.path === '/cancel.json' && theirs.body.includes('"message": "ValueError: invalid literal for int()'),
    expect: (theirs) => ({
      ...theirs,
      body: theirs.body.replace(/ValueError: [^"]*/, "TypeError: 'str' object cannot be interpreted as an integer")
    })
  },
  {
    id: 'waiting-jobs-by-project',
    reason: 'Scrapyd lists waiting jobs in the order its directory has of their projects.',
    anchor: 'project-order',
    applies: ({ request }) => /^\/(listjobs\.json\??|jobs(\?.*)?)$/.test(request.path),
    expect: (theirs) => ({ ...theirs, body: withPendingByProject(theirs.body) })
  },
  {
    id: 'deleted-project-counted',
    reason: 'Waiting jobs of a deleted project do not vanish.',
    anchor: 'deleted-projects',
    applies: ({ scenario, request }) => scenario === DELETED && request.path === '/daemonstatus.json',
    expect: (theirs) => ({
      ...theirs,
      body: theirs.body.replace('"pending": 1, "running": 1', '"pending": 2, "running": 1')
    })
  },
  {
    id: 'deleted-project-found',
    reason: 'Waiting jobs of a deleted project do not vanish.',
    anchor: 'deleted-projects',
    applies: ({ scenario, request }) => scenario === DELETED && request.path === '/status.json?job=new',
    expect: (theirs) => ({ ...theirs, body: theirs.body.replace('"currstate": null', '"currstate": "pending"') })
  },
  {
    id: 'deleted-project-listed',
    reason: 'Waiting jobs of a deleted project do not vanish.',
    anchor: 'deleted-projects',
    applies: ({ scenario, request, theirs, ours }) =>
      scenario === DELETED &&
      request.path === '/listjobs.json' &&
      ours.body.replace(/\{"id": "new", "project": "p".*?\}\}, /, '') === theirs.body,
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'short-file',
    reason: 'Twisted fails where fewer bytes are there than the last N that are asked for.',
    anchor: 'static-file-errors',
    applies: ({ request, theirs, ours }) =>
      theirs.status === 500 && /^bytes=-\d+$/.test(request.headers?.range ?? '') && ours.status === 206,
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'no-range',
    reason: 'Twisted fails on a Range of bytes that names none.',
    anchor: 'static-file-errors',
    applies: ({ request, theirs, ours }) =>
      theirs.status === 500 && request.headers?.range === 'bytes=' && ours.status === 200,
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'nul-in-a-path',
    reason: 'Twisted fails on it.',
    anchor: 'static-file-errors',
    applies: ({ request, theirs, ours }) =>
      theirs.status === 500 && request.path.endsWith('/%00') && ours.status === 404,
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'trees-before-the-first-job',
    reason: 'A link to the logs is no mistake just because nothing has run yet.',
    anchor: 'empty-trees',
    applies: ({ request, theirs, ours }) =>
      /^\/(logs|items)\/?$/.test(request.path) && theirs.status === 404 && ours.status !== 404,
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'several-ranges',
    reason: 'The whole file is an answer to several ranges, too.',
    anchor: 'several-ranges',
    applies: ({ request, theirs, ours }) =>
      (request.headers?.range ?? '').includes(',') &&
      (theirs.headers['content-type'] ?? '').startsWith('multipart/byteranges') &&
      ours.status === 200,
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'charset-of-text',
    reason: 'Without it, browsers show UTF-8 as if it were Latin-1.',
    anchor: 'charset-of-text',
    applies: ({ request, theirs }) =>
      /^\/(logs|items)\//.test(request.path) && /^text\/[\w.+-]+$/.test(theirs.headers['content-type'] ?? ''),
    expect: (theirs) => ({
      ...theirs,
      headers: { ...theirs.headers, 'content-type': `${theirs.headers['content-type']}; charset=utf-8` }
    })
  },
  {
    id: 'files-of-poor-names',
    reason: 'The run has an id of ours; the job keeps its own.',
    anchor: 'unsafe-jobid',
    applies: ({ scenario, request }) => scenario === POOR_NAMES && request.path.startsWith('/listjobs.json'),
    expect: (theirs, { ours }) => ({ ...theirs, body: withUrlsOfTwins(theirs.body, ours.body) })
  },
  {
    id: 'files-of-twins',
    reason: 'In Scrapyd all runs of one jobid write into one log; here the later ones have their own.',
    anchor: 'duplicate-jobids',
    applies: ({ scenario, request }) =>
      /^(one job id|generated)/.test(scenario) && /^\/(listjobs\.json|jobs$)/.test(request.path),
    expect: (theirs, { ours }) => ({ ...theirs, body: withUrlsOfTwins(theirs.body, ours.body) })
  },
  {
    id: 'long-names',
    reason: 'Nothing is called so, and an error repeats the name.',
    anchor: 'names',
    applies: ({ ours }) =>
      /^\{"status": "error", "message": "(project|version|_version|spider|job) is invalid: it is longer than 200 bytes"/.test(
        ours.body
      ),
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'backslash-in-a-name',
    reason: 'On Windows it is a path.',
    anchor: 'names',
    applies: ({ request, ours }) =>
      request.path === '/addversion.json' &&
      String(request.body).includes('a\\b') &&
      ours.body.startsWith('{"status": "error", "message": '),
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'backslash-in-a-name-listed',
    reason: 'What was not taken is not listed.',
    anchor: 'names',
    applies: ({ scenario, request }) =>
      scenario === 'project names that are paths' && request.path === '/listprojects.json',
    expect: (theirs) => ({ ...theirs, body: theirs.body.replace(String.raw`"a\\b", `, '') })
  },
  {
    id: 'version-order',
    reason: 'Dotted versions are compared as versions, others by their upload; Scrapyd compares text.',
    anchor: 'version-order',
    applies: ({ request, theirs, ours }) => {
      const [their, our] = [versionsOf(theirs.body), versionsOf(ours.body)]
      const isPlain = their.every((version) => /^(0|[1-9]\d*)$/.test(version))
      return request.path.startsWith('/listversions.json') && !isPlain && their.sort().join() === our.sort().join()
    },
    expect: (theirs, { ours }) => ({ ...theirs, body: ours.body })
  },
  {
    id: 'latest-version',
    reason: 'Where the order differs the latest may, too.',
    anchor: 'version-order',
    applies: ({ scenario, request, theirs, ours }) =>
      scenario === 'the order of versions' &&
      /^\/listspiders\.json\?project=order\d+$/.test(request.path) &&
      theirs.body.replace(/"only_\w+"/, '') === ours.body.replace(/"only_\w+"/, ''),
    expect: (_theirs, { ours }) => ours
  },
  {
    id: 'working-directory',
    reason: 'Scrapyd starts spiders where it was started itself; here each project has a directory of its own.',
    anchor: 'spider-processes',
    applies: ({ request }) => request.method === 'JOB' && request.path.endsWith('/cwd'),
    expect: (theirs) => ({ ...theirs, body: theirs.body.replace('<directory>', '<directory>/data/local/work/p') })
  },
  {
    id: 'egg-in-use',
    reason: 'A running spider keeps the egg that it was started with.',
    anchor: 'replaced-eggs',
    applies: ({ request, ours }) =>
      request.method === 'JOB' &&
      request.path.endsWith('/file') &&
      /<directory>\/data\/local\/egg-files\//.test(ours.body),
    expect: (theirs, { ours }) => ({
      ...theirs,
      body: theirs.body.replace(
        /<directory>\/eggs\/p\/(\d+)\.egg/,
        (_all, version) => `${/<directory>.*?\/egg-files\/\w+/.exec(ours.body)?.[0]}/p-${version}.egg`
      )
    })
  },
  {
    id: 'utf8-output',
    reason: 'What a spider prints is kept, in UTF-8 whatever the locale of the service.',
    anchor: 'spider-processes',
    applies: ({ request }) => request.method === 'JOB' && request.path.endsWith('/environment'),
    expect: (theirs) => ({
      ...theirs,
      body: theirs.body.replace('"PYTHONPATH"', '"PYTHONIOENCODING": "UTF-8",\n "PYTHONPATH"')
    })
  },
  {
    id: 'no-remote-control',
    reason: "Scrapy's server that executes code is off, and not loaded.",
    anchor: 'spider-processes',
    applies: ({ request, theirs }) => request.method === 'JOB' && /RemoteControl|remote_control/.test(theirs.body),
    expect: (theirs) => ({ ...theirs, body: withoutRemoteControl(theirs.body) })
  },
  {
    id: 'escaped-links',
    reason: 'Scrapyd puts names into links as they are: a job id could be a script.',
    anchor: 'escaped-links',
    applies: ({ request, theirs, ours }) =>
      /^\/(jobs)?$/.test(request.path) && withoutEscapes(theirs.body) === withoutEscapes(ours.body),
    expect: (_theirs, { ours }) => ours
  }
]

const withoutRemoteControl = (body: string): string =>
  body
    .replace(/,",\n " 'scrapy\.extensions\.remote_control\.RemoteControl'\]/, ']')
    .replaceAll(/ "[^"]*(?:RemoteControl|remote_control)[^"]*",\n/g, '')

const DELETED = 'deleting what has jobs'
const POOR_NAMES = 'job ids that make poor file names'
const EMPTY_NAMES = 'an empty project name, which in Scrapyd means all eggs'
const BAD_EGGS = 'eggs that Scrapyd stores and cannot use'

const METHODS_OF_HTTP = new Set(['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])

function withoutHeaders(headers: Record<string, string>, pattern: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !pattern.test(name)))
}

function sortNames(list: string): string {
  const nameOf = (text: string) => (text === '' ? '' : (JSON.parse(text) as string))
  const names = list.split(/, (?=")/)
  return names.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)).join(', ')
}

function versionsOf(body: string): string[] {
  const list = /"versions": \[(.*?)\]/.exec(body)?.[1] ?? ''
  return list === '' ? [] : list.split(', ').map((version) => JSON.parse(version) as string)
}

function lastLineOf(body: string): string | undefined {
  return (JSON.parse(body) as { message?: string }).message?.trimEnd().split('\n').at(-1)
}

/**
 * Replaces the URLs of logs and items in Scrapyd's response with ours at the same positions, if ours contain a
 * generated jobid.
 */
function withUrlsOfTwins(theirs: string, ours: string): string {
  const url = /"(?:log|items)_url": (?:null|"[^"]*")|<td>(?:<a href=".*?">\w+<\/a>)?<\/td>/g
  const ourUrls = ours.match(url) ?? []
  if (theirs.match(url)?.length !== ourUrls.length) return theirs
  let index = -1
  return theirs.replace(url, (their) => {
    const our = ourUrls[++index]
    return our?.includes('/<id>.') ? our : their
  })
}

function withPendingByProject(body: string): string {
  const projectOf = (entry: string) =>
    /^\{"id": "(?:[^"\\]|\\.)*", "project": "((?:[^"\\]|\\.)*)"/.exec(entry)?.[1] ??
    /<td>(.*?)<\/td>/.exec(entry)?.[1] ??
    ''
  const sorted = (entries: string[]) =>
    entries.toSorted((one, other) =>
      projectOf(one) < projectOf(other) ? -1 : projectOf(one) > projectOf(other) ? 1 : 0
    )
  return body
    .replace(/(?<="pending": \[).*?(?=\], "running": \[)/, (list) => sorted(list.split(/, (?=\{"id": )/)).join(', '))
    .replace(/(?<=>Pending<\/th>\s*<\/tr>\n)[\s\S]*?(?=\n *<\/tbody>)/, (rows) =>
      sorted(rows.split(/\n(?= *<tr>)/)).join('\n')
    )
}

function withoutEscapes(page: string): string {
  const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" }
  return page.replace(/&(amp|lt|gt|quot|#x27);/g, (_all, name: string) => characters[name]!)
}
