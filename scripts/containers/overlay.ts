/**
 * Returns shell lines for a separate mount namespace. They mount an overlay below `place` (quoted) that shows the
 * files of this machine, and set `$root` to its path. Changes there disappear with the namespace.
 */
export const overlayOfThisMachine = (place: string): string[] => [
  `mkdir -p ${place}`,
  `mount -t tmpfs none ${place}`,
  `mkdir ${place}/upper ${place}/work ${place}/root`,
  `mount -t overlay overlay -o lowerdir=/,upperdir=${place}/upper,workdir=${place}/work ${place}/root`,
  `root=${place}/root`
]
