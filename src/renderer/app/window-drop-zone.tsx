import { Dropzone } from '@mantine/dropzone'
import { IconUpload } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { offerFiles, useDroppedFiles } from '../state/dropped-files.ts'
import classes from './frame.module.css'

/** Files dropped anywhere go to the component that accepts them, else to the projects screen, which deploys them. */
export function WindowDropZone() {
  const navigate = useNavigate()
  const target = useDroppedFiles((state) => state.target)
  return (
    <Dropzone.FullScreen
      active
      useFsAccessApi={false}
      onDrop={(files) => {
        if (target !== null) return target.onFiles(files)
        offerFiles(files)
        void navigate({ to: '/projects' })
      }}
    >
      <div className={classes.drop}>
        <IconUpload size={36} stroke={1.4} aria-hidden />
        <strong>{target?.title ?? 'Drop to deploy'}</strong>
        <span className="dim">{target?.text ?? 'an .egg, a .zip, or a project folder with scrapy.cfg'}</span>
      </div>
    </Dropzone.FullScreen>
  )
}
