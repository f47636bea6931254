import { Button, Flex, Progress, Stack, TextInput } from '@mantine/core'
import { IconAlertTriangle, IconFileZip, IconFolder, IconPin } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Project, Version } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { openRunDialog } from '../../state/open-dialogs.ts'
import { Dialog, DialogFoot } from '../../ui/dialog.tsx'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { formatBytes } from '../../ui/numbers.ts'
import { DeployProgress } from './deploy-progress.tsx'
import { OrderWarning } from './order-warning.tsx'
import type { UploadPlan, UploadPlans } from './plan-upload.ts'
import fields from '../../ui/fields/form.module.css'
import classes from './projects.module.css'
import { useDeploy } from './use-deploy.ts'
import { usePin } from './use-pin.ts'
import { texts } from '../../../shared/texts/ui/projects.ts'

interface UploadDialogProps {
  uploads: UploadPlans
  onClose: () => void
  onUploaded: (version: Version) => void
}

export function UploadDialog({ uploads, onClose, onUploaded }: UploadDialogProps) {
  return (
    <Dialog
      opened
      onClose={onClose}
      title={uploads.plans.length > 1 ? texts.deployProjects(uploads.plans.length) : texts.deployProject}
      size={560}
    >
      <Stack gap={14}>
        {uploads.plans.map((plan) => (
          <UploadCard key={plan.key} plan={plan} onUploaded={onUploaded} onClose={onClose} />
        ))}
        {uploads.problems.map((problem) => (
          <Flex key={problem} component="p" gap={8} m={0} className={classes.problem} role="alert">
            <IconAlertTriangle size={15} aria-hidden /> {problem}
          </Flex>
        ))}
        {uploads.plans.length === 0 && <p className="dim">{texts.nothingToDeployHint}</p>}
      </Stack>
      {uploads.plans.length === 0 && (
        <DialogFoot>
          <Button onClick={onClose}>{texts.close}</Button>
        </DialogFoot>
      )}
    </Dialog>
  )
}

type Step =
  | { kind: 'ready' }
  | { kind: 'preparing' | 'sending' }
  | { kind: 'failed'; error: unknown }
  | { kind: 'done'; version: Version }

interface UploadCardProps {
  plan: UploadPlan
  onUploaded: (version: Version) => void
  onClose: () => void
}

// ready ──Upload──▶ preparing (a folder is zipped) ──▶ sending ──▶ done
//   ▲                                                    │
//   └──────────── Upload again ◀──── failed ◀────────────┘
function UploadCard({ plan, onUploaded, onClose }: UploadCardProps) {
  const { client } = useApi()
  const [project, setProject] = useState(plan.guess.project ?? '')
  const [version, setVersion] = useState('')
  const [step, setStep] = useState<Step>({ kind: 'ready' })
  const isBusy = step.kind === 'preparing' || step.kind === 'sending'

  const upload = async () => {
    try {
      setStep({ kind: 'preparing' })
      const file = await plan.open()
      setStep({ kind: 'sending' })
      const uploaded = await client.projects.upload({
        file,
        project: project.trim() || undefined,
        version: version.trim() || undefined
      })
      setStep({ kind: 'done', version: uploaded })
      onUploaded(uploaded)
    } catch (error) {
      setStep({ kind: 'failed', error })
    }
  }

  return (
    <Flex component="section" direction="column" gap={12} className={classes.upload} aria-label={plan.name}>
      <header className="line">
        {plan.fileCount === null ? <IconFileZip size={20} aria-hidden /> : <IconFolder size={20} aria-hidden />}
        <strong className="ellipsis">{plan.name}</strong>
        <span className="dim">
          {formatBytes(plan.sizeBytes)}
          {plan.fileCount !== null && texts.inFiles(plan.fileCount)}
        </span>
      </header>
      {step.kind === 'done' ? (
        <Uploaded version={step.version} onClose={onClose} />
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void upload()
          }}
        >
          <div className={fields.pair}>
            <TextInput
              label={texts.project}
              placeholder={plan.fileCount === null ? texts.fromArchive : texts.fromScrapyCfg}
              value={project}
              onChange={(event) => setProject(event.currentTarget.value)}
              maxLength={200}
              disabled={isBusy}
              data-autofocus
            />
            <TextInput
              label={texts.version}
              placeholder={texts.currentTime}
              value={version}
              onChange={(event) => setVersion(event.currentTarget.value)}
              maxLength={200}
              disabled={isBusy}
            />
          </div>
          {step.kind === 'failed' && <FormFailure error={step.error} />}
          {isBusy && <Progress value={100} animated aria-label={texts.upload} />}
          <Flex component="footer" align="center" gap={8} justify="flex-end" mt={4}>
            <span className="grow dim" role="status">
              {step.kind === 'preparing' && plan.fileCount !== null && texts.zippingFolder}
              {step.kind === 'sending' && texts.uploading}
            </span>
            <Button onClick={onClose}>{texts.cancel}</Button>
            <Button type="submit" variant="filled" loading={isBusy}>
              {step.kind === 'failed' ? texts.retryUpload : texts.upload}
            </Button>
          </Flex>
        </form>
      )}
    </Flex>
  )
}

/** Says that jobs still run the pinned version after an upload, and offers to pin the uploaded version. */
function PinHint({ project, uploaded }: { project: Project; uploaded: Version['version'] }) {
  const { isPending, pin } = usePin(project)
  const { pinnedVersion = null } = project.settings
  if (pinnedVersion === null || pinnedVersion === uploaded) return null
  return (
    <Flex component="p" align="center" gap={8} className={`${classes.warning} ${classes.pinned}`}>
      <IconPin size={14} aria-hidden />
      <span className="grow">{texts.staysPinned(project.name, pinnedVersion)}</span>
      <Button size="compact-xs" loading={isPending} onClick={() => pin(uploaded)}>
        {texts.pinVersion(uploaded)}
      </Button>
    </Flex>
  )
}

/** The version can be deployed to nodes or run directly: the engine sends it where it is needed. */
function Uploaded({ version, onClose }: { version: Version; onClose: () => void }) {
  const api = useApi()
  const nodeCount = useQuery(api.query.nodes.list.queryOptions()).data?.nodes.length ?? 0
  const project = useQuery(api.query.projects.get.queryOptions({ input: { project: version.project } })).data
  const deploy = useDeploy(version.project, version.version)
  const run = () => {
    onClose()
    openRunDialog({
      project: version.project,
      version: version.version,
      spiders: version.spiders?.length === 1 ? version.spiders : []
    })
  }
  const name = (
    <strong>
      {version.project} {version.version}
    </strong>
  )
  return (
    <>
      <p role="status">
        {version.spiders === null ? texts.uploaded(name) : texts.uploadedWithSpiders(name, version.spiders.length)}
      </p>
      {version.spiders !== null && version.spiders.length > 0 && (
        <p className={`${classes.spiderNames} dim`}>{version.spiders.join(', ')}</p>
      )}
      {project !== undefined && <PinHint project={project} uploaded={version.version} />}
      {version.orderWarning !== null && <OrderWarning text={version.orderWarning} />}
      {deploy.hasStarted && <DeployProgress deploy={deploy} expected={nodeCount} />}
      <Flex component="footer" align="center" gap={8} justify="flex-end" mt={4}>
        <Button onClick={onClose}>{texts.close}</Button>
        {!deploy.hasStarted && (
          <Button onClick={() => deploy.start()}>
            {nodeCount === 1 ? texts.deployToTheNode : texts.deployToAllNodes(nodeCount)}
          </Button>
        )}
        <Button variant="filled" onClick={run}>
          {texts.runItem}
        </Button>
      </Flex>
    </>
  )
}
