import { Button } from '@mantine/core'
import { IconPackage, IconPin, IconUpload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { Job, Node, Project, ProjectName } from '../../../shared/contract/index.ts'
import { versionOf } from '../../../shared/version-of.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { claimFiles, useDroppedFiles } from '../../state/dropped-files.ts'
import { useKeys } from '../../state/keys.ts'
import { FilePicker } from '../../ui/file-picker.tsx'
import { formatCount } from '../../ui/numbers.ts'
import { ScreenHead } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import type { Column } from '../../ui/table/column.ts'
import { VirtualTable } from '../../ui/table/virtual-table.tsx'
import { spreadOf } from './compare-versions.ts'
import { LastRun, newestBy } from './last-run.tsx'
import { planUploads, type UploadPlans } from './plan-upload.ts'
import { ProjectDetail } from './project-detail.tsx'
import classes from './projects.module.css'
import { SpreadText } from './spread-text.tsx'
import { UploadDialog } from './upload-dialog.tsx'
import { texts } from '../../../shared/texts/ui/projects.ts'

const route = getRouteApi('/projects')

export function ProjectsScreen() {
  const api = useApi()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useQuery(api.query.projects.list.queryOptions())
  const nodes = useQuery(api.query.nodes.list.queryOptions()).data?.nodes
  const lastJobs = useLastJobs()
  const { may } = useMay('eggs.deploy')
  const [uploads, offerUploads] = useUploads()
  const open = (project: ProjectName | undefined) =>
    void navigate({ search: { project }, replace: search.project !== undefined && project !== undefined })
  useKeys(texts.projects, [
    ...(may ? [{ key: 'u', label: texts.uploadProject, run: () => picker.current?.click() }] : []),
    { key: 'Escape', label: texts.closeProject, run: () => open(undefined) }
  ])
  const picker = useRef<HTMLInputElement>(null)
  const folderPicker = useRef<HTMLInputElement>(null)
  // A changed project moves to the end of the cached list, so sort here.
  const byName = useMemo(
    () => (projects.data?.projects ?? []).toSorted((left, right) => left.name.localeCompare(right.name)),
    [projects.data]
  )
  const columns = useMemo(() => projectColumns(nodes ?? [], lastJobs), [nodes, lastJobs])

  const uploadButton = may && (
    <Button variant="filled" leftSection={<IconUpload size={14} />} onClick={() => picker.current?.click()}>
      {texts.uploadItem}
    </Button>
  )
  return (
    <div className="split grow">
      <section className={`${classes.list} column grow`} data-beside={search.project !== undefined || undefined}>
        <div className={classes.listHead}>
          <ScreenHead title={texts.projects} note={may && search.project === undefined ? texts.dropHint : undefined}>
            {may && (
              <Button
                aria-label={texts.chooseFolder}
                title={texts.folderHint}
                onClick={() => folderPicker.current?.click()}
              >
                {texts.folderItem}
              </Button>
            )}
            {uploadButton}
          </ScreenHead>
        </div>
        <FilePicker label={texts.eggPicker} accept=".egg,.whl,.zip" multiple onFiles={offerUploads} inputRef={picker} />
        <FilePicker label={texts.folderPicker} onFiles={offerUploads} inputRef={folderPicker} />
        <QueryState query={projects} what={texts.theProjects}>
          {() => (
            <VirtualTable
              label={texts.projects}
              rows={byName}
              rowId={(project) => project.name}
              columns={columns}
              openId={search.project ?? null}
              onOpen={(project) => open(project.name)}
              primary
              empty={
                <EmptyState icon={<IconPackage size={28} />} title={texts.noProjectsYet} action={uploadButton}>
                  {texts.noProjectsHint}
                </EmptyState>
              }
            />
          )}
        </QueryState>
      </section>
      {search.project !== undefined && (
        <ProjectDetail
          key={search.project}
          name={search.project}
          isLogOpen={search.log ?? false}
          onLog={(isOpen) => void navigate({ search: (old) => ({ ...old, log: isOpen || undefined }) })}
          onClose={() => open(undefined)}
        />
      )}
      {uploads !== null && (
        <UploadDialog
          uploads={uploads}
          onClose={() => offerUploads(null)}
          onUploaded={({ project }) => open(project)}
        />
      )}
    </div>
  )
}

function projectColumns(nodes: readonly Node[], lastJobs: ReadonlyMap<string, Job>): Column<Project>[] {
  return [
    {
      id: 'name',
      header: texts.project,
      width: 'minmax(110px, 1.4fr)',
      cell: ({ name }) => <strong className="medium">{name}</strong>,
      sortBy: ({ name }) => name
    },
    {
      id: 'active',
      header: texts.activeVersionTitle,
      width: 'minmax(130px, 1.2fr)',
      hideBelowPx: 560,
      cell: ({ activeVersion, settings }) => (
        <>
          {activeVersion ?? <span className="faint">{texts.none}</span>}
          {settings.pinnedVersion != null && (
            <IconPin
              size={13}
              className={classes.pin}
              role="img"
              aria-label={texts.versionPinned}
              title={texts.pinnedTitle}
            />
          )}
        </>
      )
    },
    {
      id: 'spiders',
      header: texts.spiders,
      width: '78px',
      align: 'end',
      cell: (project) => formatKnown(versionOf(project)?.spiders?.length),
      sortBy: (project) => versionOf(project)?.spiders?.length ?? null
    },
    {
      id: 'versions',
      header: texts.versions,
      width: '78px',
      align: 'end',
      hideBelowPx: 640,
      cell: ({ versions }) => formatCount(versions.length)
    },
    {
      id: 'spread',
      header: texts.deployedOn,
      width: 'minmax(120px, 1.3fr)',
      hideBelowPx: 340,
      cell: (project) => <SpreadText spread={spreadOf(versionOf(project), nodes)} />
    },
    {
      id: 'last',
      header: texts.lastRun,
      width: 'minmax(120px, 1fr)',
      hideBelowPx: 760,
      cell: ({ name }) => <LastRun job={lastJobs.get(name)} />
    },
    {
      id: 'updated',
      header: texts.updated,
      width: '84px',
      align: 'end',
      hideBelowPx: 480,
      cell: (project) => (
        <span className="dim">
          <RelativeTime atMs={project.versions[0]?.createdAtMs ?? null} />
        </span>
      ),
      sortBy: (project) => project.versions[0]?.createdAtMs ?? null
    }
  ]
}

const formatKnown = (count: number | undefined) =>
  count === undefined ? (
    <span className="faint" title={texts.unknownSpiders}>
      ?
    </span>
  ) : (
    formatCount(count)
  )

/** Finds the last job of each project among the newest jobs, with one request. */
function useLastJobs(): ReadonlyMap<string, Job> {
  const api = useApi()
  const jobs = useQuery(api.query.jobs.list.queryOptions({ input: { limit: 300 } })).data?.jobs
  return useMemo(() => newestBy(jobs, ({ project }) => project), [jobs])
}

function useUploads(): [UploadPlans | null, (files: readonly File[] | null) => void] {
  const [uploads, setUploads] = useState<UploadPlans | null>(null)
  const offer = (files: readonly File[] | null) => {
    if (files === null) setUploads(null)
    else if (files.length > 0) void planUploads(files).then(setUploads)
  }
  const dropped = useDroppedFiles(({ files }) => files)
  useEffect(() => {
    if (dropped.length > 0) void planUploads(claimFiles()).then(setUploads)
  }, [dropped])
  return [uploads, offer]
}
