/** `[services]` of Scrapyd 1.6. */
export const SCRAPYD_SERVICES: Readonly<Record<string, string>> = {
  'schedule.json': 'scrapyd.webservice.Schedule',
  'cancel.json': 'scrapyd.webservice.Cancel',
  'status.json': 'scrapyd.webservice.Status',
  'addversion.json': 'scrapyd.webservice.AddVersion',
  'listprojects.json': 'scrapyd.webservice.ListProjects',
  'listversions.json': 'scrapyd.webservice.ListVersions',
  'listspiders.json': 'scrapyd.webservice.ListSpiders',
  'delproject.json': 'scrapyd.webservice.DeleteProject',
  'delversion.json': 'scrapyd.webservice.DeleteVersion',
  'listjobs.json': 'scrapyd.webservice.ListJobs',
  'daemonstatus.json': 'scrapyd.webservice.DaemonStatus'
}
